"""JSON files of documents: one object, a list, an object with a list in it, or one object per line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from onym.corpora.draft import MalformedError, require_good
from onym.corpora.formats._files import head, iter_lines
from onym.errors import InputError, LimitError
from onym.store.files.json import iter_items, parsed_line
from onym.store.files.source import InputFile

_LINES = (".jsonl", ".ndjson")


def iter_objects(file: InputFile, lists: Sequence[str] = ()) -> Iterator[tuple[str, dict[str, Any] | MalformedError]]:
    """Yield where each document is, and its value; one that is no object, or is not on a line of its own JSON, as an error.

    `lists` are the keys under which a collection has its documents.
    """
    data = head(file)
    if file.stem.endswith(_LINES):  # whatever its first line has become
        yield from _by_line(file)
        return
    if data.startswith(b"["):
        yield from _members(file, "item")
        return
    for key in lists:
        if re.match(rb'\{(?:[^\[\]{}]|\{[^{}]*\})*?"' + key.encode() + rb'"\s*:\s*\[', data):
            yield from _members(file, f"{key}.item")
            return
    yield from _by_line(file) if _is_by_line(data) else _members(file, "")


def _members(file: InputFile, prefix: str) -> Iterator[tuple[str, dict[str, Any] | MalformedError]]:
    for number, value in enumerate(iter_items(file, prefix), 1):
        where = f"{file.name}, document {number}"
        yield where, value if isinstance(value, dict) else MalformedError("a document is not an object", where)


def _is_by_line(data: bytes) -> bool:
    """Tell whether the first line is a whole value: it is then one of several, or the only one."""
    first, newline, _ = data.partition(b"\n")
    if not newline:
        return True  # longer than what was looked at: a file of one line and a file of lines are read alike
    return first.rstrip().endswith(b"}") and first.count(b"{") <= first.count(b"}")


def _by_line(file: InputFile) -> Iterator[tuple[str, dict[str, Any] | MalformedError]]:
    for line in iter_lines(file):
        if not line.text.strip():
            continue
        where = f"{file.name}:{line.number}"
        try:
            require_good([line])
            value = parsed_line(line.text.encode(), where, file.limits)
        except MalformedError as e:
            yield where, e
        except InputError as e:
            yield where, MalformedError(e.what, where)
        except LimitError as e:
            yield where, MalformedError.of(e)
        else:
            yield where, value if isinstance(value, dict) else MalformedError("a document is not an object", where)
