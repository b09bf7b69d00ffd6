"""BioSyn's and SapBERT's query files (`.concept`): lines of `document||start|end||type||mention||ids`, without the text.

The mentions are preprocessed (lower case, expanded abbreviations) and do not match the original text. So we use the
mentions, one per line, as the text of a document, and store the original offsets in a note of each mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from onym.corpora.base import Draft, Facet, Item, MalformedError, Output, Style
from onym.corpora.formats._files import FileNames, any_looks, file_name, id_of_file, iter_lines, require_few_lines
from onym.corpora.ids import format_ids, keeps_ids, parse_ids_with_note
from onym.store.files.source import InputFile, Source
from onym.types import Document, Mention

HOLDS: frozenset[Facet] = frozenset({"document ids", "text", "mentions", "types", "concept ids", "composites"})
IS_FOLDER = True
EXTENSIONS = (".concept",)

OFFSETS = "offsets"
_PREFIX = "mesh"
_LINE = re.compile(r"(?P<id>[^|]+)\|\|(?P<offsets>[^|]*\|[^|]*)\|\|(?P<type>[^|]*)\|\|(?P<surface>.+)\|\|(?P<ids>.*)")
_OFFSETS = re.compile(r"[0-9]+\|[0-9]+")
_TO_SPACE = str.maketrans(dict.fromkeys("\n\r\x00", " "))
_MARKS = re.compile(r"[|\n\r\x00\ufeff]")


def matches(source: Source) -> bool:
    """Return whether a file name ends in `.concept`."""
    return any_looks(source, lambda file: file.stem.endswith(EXTENSIONS))


def read(source: Source) -> Iterator[Item]:
    """Yield a document for each document id in each file."""
    return (item for file in source.files for item in _read_file(file))


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets that survive writing. Text and mentions survive only if the text is the mentions, one per line."""
    lost: set[Facet] = set()
    if document.text != "\n".join(mention.surface for mention in document.mentions) or not _are_lines(document):
        lost |= {"text", "mentions"}
    if id_of_file(InputFile.from_bytes(file_name(document.id), b"")) != document.id or _name(document.id) != document.id:
        lost.add("document ids")
    if any(_MARKS.search(mention.type) for mention in document.mentions):
        lost.add("types")
    if any(not keeps_ids(each, _PREFIX) or "||" in _ids(each, "") for each in document.mentions) or "types" in lost:
        lost |= {"concept ids", "composites"}
    return HOLDS - lost


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write a file for each document."""
    names = FileNames()
    for document in documents:
        with output.file(f"{names.of(document.id)}.concept") as file:
            for mention in document.mentions:
                cells = [_name(document.id), _offsets(mention), _MARKS.sub(" ", mention.type), _surface(mention)]
                file.write("||".join([*cells, _ids(mention, style)]).encode() + b"\n")


def _read_file(file: InputFile) -> Iterator[Item]:
    rows: list[tuple[re.Match[str], str]] = []
    for line in iter_lines(file):
        if not line.text.strip():
            continue
        where = f"{file.name}:{line.number}"
        row = _LINE.fullmatch(line.text)
        if rows and row and rows[0][0]["id"] != row["id"]:
            yield from _document(rows)
            rows = []
        if line.error or not row:
            bad = MalformedError("a line does not have the form ID||START|END||TYPE||MENTION||IDS", where)
            yield (MalformedError.of(line.error) if line.error else bad).problem(row["id"] if row else "")
            continue
        rows.append((row, where))
        require_few_lines(len(rows), file, line.number)
    if rows:
        yield from _document(rows)
    elif not rows and not file.size:
        yield Document(id_of_file(file).removesuffix(".concept"), "")


def _document(rows: list[tuple[re.Match[str], str]]) -> Iterator[Item]:
    draft = Draft(rows[0][0]["id"], "\n".join(row["surface"] for row, _ in rows))
    start = 0
    for row, where in rows:
        end = start + len(row["surface"])
        concept_ids, notes = parse_ids_with_note(row["ids"], row["type"], _PREFIX)
        more = (*notes, (OFFSETS, row["offsets"]))
        draft.add(start, end, concept_ids=concept_ids, type=row["type"], notes=more, where=where)
        start = end + 1
    yield from draft.items()


def _are_lines(document: Document) -> bool:
    start = 0
    for mention in document.mentions:
        if mention.start != start or _surface(mention) != mention.surface:
            return False
        start = mention.end + 1
    return bool(document.mentions)


def _name(document_id: str) -> str:
    name = _MARKS.sub(" ", document_id)
    return name if name.strip() else "-"


def _offsets(mention: Mention) -> str:
    noted = dict(mention.notes).get(OFFSETS, "")
    return noted if _OFFSETS.fullmatch(noted) else f"{mention.start}|{mention.end}"


def _surface(mention: Mention) -> str:
    """Return the surface without line breaks and without the separator `||`."""
    return re.sub(r"^\||\|(?=\|)|\|$", " ", mention.surface.translate(_TO_SPACE))


def _ids(mention: Mention, style: Style) -> str:
    return format_ids(mention, style, _PREFIX).translate(_TO_SPACE) or "-1"
