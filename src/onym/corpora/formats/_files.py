"""Helpers shared by formats: first bytes, lines and text of files, JSON objects, and file names of documents."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from onym.corpora.base import MalformedError, require_good
from onym.errors import InputError, LimitError
from onym.store.files.json import iter_items, parse_line
from onym.store.files.lines import Line
from onym.store.files.lines import iter_lines as iter_raw_lines
from onym.store.files.source import InputFile, Source

HEAD = 16 * 1024
"""Number of first bytes by which a format is recognised."""
TABLES = (".csv", ".tsv", ".tab", ".xlsx")
"""File name extensions of tables."""
_IN_NAMES = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-#")
_ESCAPED = re.compile(r"%([0-9A-F]{2})")
_NUMBERED = re.compile(r"%~[0-9]+$")
_MAX_NAME = 200


def head(file: InputFile) -> bytes:
    """Return the first bytes of a file, without a byte order mark and leading whitespace."""
    return first_bytes(file).removeprefix(b"\xef\xbb\xbf").lstrip()


def first_bytes(file: InputFile) -> bytes:
    """Return the first `HEAD` bytes of a file."""
    with file.open(peek=True) as stream:
        data = b""
        while len(data) < HEAD and (more := stream.read(HEAD - len(data))):
            data += more
    return data


def is_json(file: InputFile) -> bool:
    """Return whether a file begins like JSON lines, a JSON list or a JSON object."""
    return head(file)[:1] in (b"{", b"[")


def any_looks(source: Source, looks_right: Callable[[InputFile], bool]) -> bool:
    """Return whether `looks_right` is true for at least one file of the source."""
    return any(looks_right(file) for file in source.files)


def iter_lines(file: InputFile) -> Iterator[Line]:
    """Yield the lines of a file without line ends. `error` is set for invalid lines."""
    for line in iter_raw_lines(file):
        yield line if not line.text.endswith("\r") else line._replace(text=line.text[:-1])


def require_few_lines(lines: int, file: InputFile, number: int) -> None:
    """Raise LimitError if a document has too many lines; `number` is the line number to report."""
    if lines > file.limits.document_lines:
        what = f"a document has more than {file.limits.document_lines:,} lines"
        raise LimitError("limit-record", what, where=f"{file.name}:{number}")


def whole_text(file: InputFile) -> str:
    """Return the text of a file, unchanged; raise LimitError if the file is too long."""
    limit, data = file.limits.document_bytes, bytearray()
    with file.open() as stream:
        while more := stream.read(64 * 1024):
            data += more
            if len(data) > limit:
                raise LimitError("limit-record", f"a document is longer than {limit:,} bytes", where=file.name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        where = f"{file.name} (byte {e.start:,})"
        fix = "give its encoding with --encoding, or convert the file to UTF-8"
        raise InputError("input-encoding", "not valid UTF-8", where=where, fix=fix) from e


def file_name(document_id: str) -> str:
    """Return a file name stem for a document id, with unsafe characters escaped.

    >>> file_name("PMC12.1"), file_name("../a b")
    ('PMC12.1', '%2E.%2Fa%20b')
    """
    escaped = "".join(char if char in _IN_NAMES else _escape_char(char) for char in document_id)
    if escaped.startswith("."):
        escaped = "%2E" + escaped[1:]
    if len(escaped) > _MAX_NAME:
        return f"{escaped[:150]}~{hashlib.sha256(document_id.encode()).hexdigest()[:16]}"
    return escaped or "%"


class FileNames:
    """Makes unique file name stems for documents. Duplicate ids, and ids that differ only in case, get a number.

    >>> names = FileNames()
    >>> [names.of(document_id) for document_id in ("1", "1", "a", "A")]
    ['1', '1%~2', 'a', 'A%~2']
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def of(self, document_id: str) -> str:
        """Return the file name stem for the next document; `id_of_file` recovers the document id from it."""
        stem = file_name(document_id)
        self._counts[stem.casefold()] += 1
        count = self._counts[stem.casefold()]
        return stem if count == 1 else f"{stem}%~{count}"


def id_of_file(file: InputFile) -> str:
    """Recover the document id from a file name.

    >>> id_of_file(InputFile.from_bytes("a/%2E.%2Fa%20b.txt", b"")), id_of_file(InputFile.from_bytes("1%~2.txt", b""))
    ('../a b', '1')
    """
    stem = PurePosixPath(file.name).name
    for suffix in (".gz", ".zst", ".txt", ".ann"):
        stem = stem.removesuffix(suffix)
    stem = _NUMBERED.sub("", stem)
    if stem == "%":
        return ""
    try:
        return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), stem).encode("latin-1").decode("utf-8")
    except UnicodeError:
        return stem  # the name does not come from `file_name`, so it is not escaped


def _escape_char(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode())


_LINES = (".jsonl", ".ndjson")


def iter_objects(file: InputFile, lists: Sequence[str] = ()) -> Iterator[tuple[str, dict[str, Any] | MalformedError]]:
    """Yield the location of each document with its JSON object, or with an error if the document is invalid.

    The file may be a list, an object with a list under one of the keys in `lists`, JSON lines, or a single object.
    """
    layout = find_json_layout(file, lists)
    yield from _by_line(file) if layout is None else _members(file, layout)


def find_json_layout(file: InputFile, lists: Sequence[str] = ()) -> str | None:
    """Return where the documents of a JSON file are: `item` of a list, `KEY.item`, the only object (""), or lines (None)."""
    if file.stem.endswith(_LINES):  # recognised by name, so that an invalid first line affects only one document
        return None
    data = head(file)
    if data.startswith(b"["):
        return "item"
    for key in lists:
        if re.match(rb'\{(?:[^\[\]{}]|\{[^{}]*\})*?"' + key.encode() + rb'"\s*:\s*\[', data):
            return f"{key}.item"
    return None if _is_by_line(data) else ""


def _members(file: InputFile, prefix: str) -> Iterator[tuple[str, dict[str, Any] | MalformedError]]:
    for number, value in enumerate(iter_items(file, prefix), 1):
        where = f"{file.name}, document {number}"
        yield where, value if isinstance(value, dict) else MalformedError("a document is not a JSON object", where)


def _is_by_line(data: bytes) -> bool:
    """Return whether the first line is a complete JSON value, which means that the file is JSON lines."""
    first, newline, _ = data.partition(b"\n")
    if not newline:
        return True  # the first line ends beyond `data`, or the file has one line; both can be read by line
    return first.rstrip().endswith(b"}") and first.count(b"{") <= first.count(b"}")


def _by_line(file: InputFile) -> Iterator[tuple[str, dict[str, Any] | MalformedError]]:
    for line in iter_lines(file):
        if not line.text.strip():
            continue
        where = f"{file.name}:{line.number}"
        try:
            require_good([line])
            value = parse_line(line.text.encode(), where, file.limits)
        except MalformedError as e:
            yield where, e
        except InputError as e:
            yield where, MalformedError(e.what, where)
        except LimitError as e:
            yield where, MalformedError.of(e)
        else:
            yield where, value if isinstance(value, dict) else MalformedError("a document is not a JSON object", where)
