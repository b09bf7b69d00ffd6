"""Helpers for the formats of citation managers, in which each line has a tag, a dash and a value: PubMed's format and RIS."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from onym.corpora.base import MalformedError, require_good
from onym.corpora.formats._files import iter_lines, require_few_lines
from onym.errors import LimitError
from onym.store.files.lines import Line
from onym.store.files.source import InputFile
from onym.types import Document, Passage

_KEPT = 40  # characters of an invalid line, enough for a tag and an id
Fields = Mapping[str, Sequence[str]]
"""The values of each tag, in order."""


def iter_records(file: InputFile, begins: re.Pattern[str], ends: Callable[[str], bool]) -> Iterator[list[Line]]:
    """Yield the non-blank lines of each record: from a line that matches `begins` up to a line for which `ends` is true."""
    pending: list[Line] = []
    size = 0
    for line in iter_lines(file):
        is_end = ends(line.text)
        if pending and (is_end or begins.match(line.text)):
            yield pending
            pending, size = [], 0
        if not is_end and line.text.strip():
            pending.append(line._replace(text=line.text[:_KEPT]) if line.error else line)
            size += len(pending[-1].text)
            require_few_lines(len(pending), file, line.number)
            if size > file.limits.document_bytes:
                what = f"a citation is longer than {file.limits.document_bytes:,} bytes"
                raise LimitError("limit-record", what, where=f"{file.name}:{line.number}")
    if pending:
        yield pending


def parse_fields(lines: Sequence[Line], tag: re.Pattern[str], name: str, *, indent: str = "") -> Fields:
    """Parse the lines of a record. `tag` matches a tag and a value; other lines continue a value, and begin with `indent`.

    >>> lines = [Line(1, "TI  - High"), Line(2, "      fever")]
    >>> parse_fields(lines, re.compile("([A-Z]+) *- ?(.*)"), "a.nbib", indent=" ")
    {'TI': ['High fever']}
    """
    require_good(lines)
    fields: dict[str, list[list[str]]] = {}
    value: list[str] | None = None
    for line in lines:
        if found := tag.fullmatch(line.text):
            value = [found[2].strip()]
            fields.setdefault(found[1], []).append(value)
        elif value is not None and line.text.startswith(indent):
            value.append(line.text.strip())
        else:
            raise MalformedError("a line has no tag and does not continue a field", f"{name}:{line.number}")
    return {key: [" ".join(filter(None, value)) for value in values] for key, values in fields.items()}


def make_citation(document_id: str, fields: Fields, titles: Sequence[str], abstracts: Sequence[str]) -> Document:
    """Return a document with title and abstract, each from the first tag in `titles` or `abstracts` that has a value.

    >>> make_citation("1", {"TI": ["Fever"], "OAB": ["It rose."]}, ["TI"], ["AB", "OAB"]).text
    'Fever It rose.'
    """
    title, abstract = _first(fields, titles), _first(fields, abstracts)
    pieces = [(kind, piece) for kind, piece in (("title", title), ("abstract", abstract)) if piece]
    passages, start = [], 0
    for kind, piece in pieces:
        passages.append(Passage(start, start + len(piece), kind))
        start += len(piece) + 1
    return Document(document_id, " ".join(piece for _, piece in pieces), passages=tuple(passages))


def _first(fields: Fields, tags: Sequence[str]) -> str:
    return next((" ".join(filter(None, fields[tag])) for tag in tags if any(fields.get(tag, ()))), "")
