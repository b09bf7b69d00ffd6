"""Onym's JSONL: one document per line, without loss of data. See docs/reference/corpus-formats.md.

A JSON list of documents, or a single document, can be read too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from onym.corpora.base import ALL, Facet, Item, MalformedError, Output, Segment, Style, preserve_all
from onym.corpora.formats._files import any_looks, head, iter_objects
from onym.corpora.formats._segments import iter_json_segments
from onym.corpora.plain import Plain, from_plain, from_plain_linked, to_plain, to_plain_linked
from onym.errors import InputError
from onym.store.files.source import InputFile, Source
from onym.types import Document, LinkedDocument

HOLDS: frozenset[Facet] = ALL
IS_FOLDER = False
preserved_facets = preserve_all

_TEXT = re.compile(rb'"text"\s*:')


def matches(source: Source) -> bool:
    """Return whether a file begins with a JSON object that has the key `text`."""
    return any_looks(source, _looks_right)


def read(source: Source) -> Iterator[Item]:
    """Yield the documents of every file."""
    return (item for file in source.files for item in _read_file(file))


def iter_segments(file: InputFile) -> Iterator[Segment]:
    """Yield the documents of a file as bytes, and the bytes between them."""
    return iter_json_segments(file)


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:  # noqa: ARG001
    """Write one line per document; ids are always CURIEs."""
    with output.file() as file:
        for document in documents:
            file.write(_line(to_plain(document)))


def write_linked(linked: Iterable[LinkedDocument], output: Output) -> None:
    """Write one line per linked document, with all candidates and scores, or with its problems if linking failed."""
    with output.file() as file:
        for each in linked:
            file.write(_line(to_plain_linked(each)))


def read_linked(source: Source) -> Iterator[LinkedDocument]:
    """Yield the linked documents of every file; raise InputError at an invalid line."""
    for where, plain in (each for file in source.files for each in iter_objects(file)):
        try:
            if isinstance(plain, MalformedError):
                raise plain
            yield from_plain_linked(plain, where)
        except MalformedError as e:
            raise InputError("corpus-malformed", e.what, where=where, fix="write the file again with onym link") from e


def _line(plain: Plain) -> bytes:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _looks_right(file: InputFile) -> bool:
    data = head(file)
    return data[:1] in (b"{", b"[") and _TEXT.search(data) is not None


def _read_file(file: InputFile) -> Iterator[Item]:
    for where, plain in iter_objects(file):
        try:
            if isinstance(plain, MalformedError):
                raise plain
            yield from from_plain(plain, where)
        except MalformedError as e:
            yield e.problem()
