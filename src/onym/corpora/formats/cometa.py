"""COMETA: a tab-separated table with the columns id, term, general label and id, specific label and id, example.

Written from the specification. The general id is the concept of the mention; notes keep the other columns. The mention is the
first occurrence of the term in the example. If the term does not occur, it is prepended to the example, as in GenBioEL.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain

from onym.corpora.base import Draft, Facet, Item, MalformedError, Output, Style
from onym.corpora.formats._files import any_looks, head
from onym.corpora.ids import drop_type, format_ids, keeps_ids, parse_ids_with_note
from onym.errors import InputError
from onym.store.files.lines import Line, iter_lines
from onym.store.files.source import InputFile, Source
from onym.store.files.table import TableFormat, header
from onym.types import Document, Mention

HOLDS: frozenset[Facet] = frozenset({"document ids", "text", "mentions", "concept ids", "composites"})
IS_FOLDER = False

COLUMNS = ("ID", "Term", "General SNOMED Label", "General SNOMED ID", "Specific SNOMED Label", "Specific SNOMED ID", "Example")
_NOTED = {"general label": 2, "specific label": 4, "specific id": 5}
_PREFIX = "snomedct"
_FORM = TableFormat(quoted=True)
_NUL = re.compile("\x00")


def matches(source: Source) -> bool:
    """Return whether a table has COMETA's columns."""
    return any_looks(source, _looks_right)


def read(source: Source) -> Iterator[Item]:
    """Yield a document for each row."""
    return (item for file in source.files for item in _read_file(file))


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets that survive writing.

    There are none if the document has several mentions, or if its mention is not the first occurrence of the surface.
    """
    if len(document.mentions) != 1:
        return frozenset()
    mention = document.mentions[0]
    if document.text.find(mention.surface) != mention.start or "\x00" in document.text or not mention.surface.strip():
        return frozenset()
    if any(map(_is_like_a_row, _format_row(document, mention, "").split("\n")[1:])):
        return frozenset()
    lost: set[Facet] = set()
    if "\x00" in document.id or not document.id:
        lost.add("document ids")
    untyped = drop_type(mention)
    if not keeps_ids(untyped, _PREFIX) or "\x00" in format_ids(untyped, "", _PREFIX):
        lost |= {"concept ids", "composites"}
    return HOLDS - lost


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write a row for each mention."""
    with output.file() as file:
        file.write("\t".join(COLUMNS).encode() + b"\n")
        for document in documents:
            for mention in document.mentions:
                file.write(_format_row(document, mention, style).encode() + b"\n")


def _format_row(document: Document, mention: Mention, style: Style) -> str:
    notes = dict(mention.notes)
    cells = [document.id, mention.surface, *[""] * 4, document.text]
    for key, column in _NOTED.items():
        cells[column] = notes.get(key, "")
    cells[3] = format_ids(drop_type(mention), style, _PREFIX) or "-"
    return "\t".join(_quote(cell) for cell in cells)


def _looks_right(file: InputFile) -> bool:
    return b"\t" in head(file)[:200] and [name.lower() for name in header(file, _FORM)][1:] == [
        name.lower() for name in COLUMNS[1:]
    ]


def _read_file(file: InputFile) -> Iterator[Item]:
    for number, row in enumerate(_rows(file)):
        where = f"{file.name}, row {number}"
        if isinstance(row, MalformedError):
            yield MalformedError(row.what, row.where or where, code=row.code).problem()
        elif number > 0:  # the first row is the header
            yield from _document(row, where)


def _rows(file: InputFile) -> Iterator[list[str] | MalformedError]:
    """Yield the cells of each row, or an error for an invalid line or a wrong number of cells.

    A quoted cell may span several lines. If the lines do not form a valid row, we assume a stray quote: only the line with
    the quote is an error, and the following lines are read again as rows.
    """
    waiting: deque[Line] = deque()
    rest = iter_lines(file)
    while line := waiting.popleft() if waiting else next(rest, None):
        lines = [line]
        row = _cells(lines, chain(_drain(waiting), rest), file.name)
        if row is None:
            waiting.extendleft(reversed(lines[1:]))
        if bad := next((each.error for each in (lines if row else lines[:1]) if each.error), None):
            yield MalformedError.of(bad)
        else:
            what = "a row has an unclosed quote, or not as many fields as the header"
            yield row or MalformedError(what)


def _cells(lines: list[Line], rest: Iterator[Line], where: str) -> list[str] | None:
    """Return the cells of a row, or None if it is invalid. If a quoted cell spans several lines, add those to `lines`."""

    def texts() -> Iterator[str]:
        yield f"{lines[0].text}\n"
        for line in rest:
            lines.append(line)
            yield f"{line.text}\n"

    try:
        row = next(csv.reader(texts(), delimiter=_FORM.delimiter))
    except csv.Error as e:  # a cell has more than 131,072 characters, perhaps because a stray quote joined several rows
        if len(lines) == 1 or _has_rows(lines[1:]):
            return None
        what, fix = "a quoted cell is longer than 131,072 characters", "close the quote, or double it"
        raise InputError("table-fields", what, where=where, fix=fix) from e
    return row if len(row) == len(COLUMNS) and not _has_rows(lines[1:]) else None


def _has_rows(lines: list[Line]) -> bool:
    return any(_is_like_a_row(line.text) for line in lines)


def _is_like_a_row(line: str) -> bool:
    """Return whether a line is a complete row. The last line of a quoted cell is not: it has an unpaired quote."""
    return line.count(_FORM.delimiter) == len(COLUMNS) - 1 and line.count('"') % 2 == 0


def _drain(lines: deque[Line]) -> Iterator[Line]:
    while lines:
        yield lines.popleft()


def _document(cells: list[str], where: str) -> Iterator[Item]:
    document_id, term, example = cells[0], cells[1], cells[6]
    if not term:
        yield MalformedError("a row has no term", where).problem(document_id)
        return
    start = example.find(term)
    draft = Draft(document_id, example if start >= 0 else f"{term} {example}")
    concept_ids, notes = parse_ids_with_note(cells[3], "", _PREFIX)
    more = tuple((key, cells[column]) for key, column in _NOTED.items() if cells[column])
    draft.add(max(start, 0), max(start, 0) + len(term), term, concept_ids=concept_ids, notes=(*notes, *more), where=where)
    yield from draft.items()


def _quote(cell: str) -> str:
    cell = _NUL.sub(" ", cell)
    return '"' + cell.replace('"', '""') + '"' if re.search(r'[\t\n\r"]', cell) else cell
