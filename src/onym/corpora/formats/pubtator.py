r"""PubTator: `ID|t|title`, `ID|a|abstract`, then one line per mention and per relation, and an empty line.

Offsets count from the beginning of the title; the abstract starts one character after the end of the title. Mentions have 5
columns (without an id), 6 columns, or 7 columns (in BC5CDR, with the fragments of a composite mention). A surface may contain
tabs if the text contains them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from onym.corpora.base import Draft, Facet, Item, MalformedError, Output, Segment, Style, require_good
from onym.corpora.formats._files import any_looks, head, iter_lines, require_few_lines
from onym.corpora.formats._segments import iter_block_segments
from onym.corpora.ids import KEY, format_ids, ids_text, keeps_ids, parse_ids, parse_ids_with_note
from onym.store.files.lines import Line
from onym.store.files.source import InputFile, Source
from onym.types import Document, Mention, Notes, Passage, Relation

HOLDS: frozenset[Facet] = frozenset(
    {"document ids", "text", "passages", "mentions", "types", "concept ids", "composites", "relations", "notes"}
)
IS_FOLDER = False
EXTENSIONS = (".pubtator",)

_TEXT = re.compile(r"([^|\t\n]+)\|([ta])\|(.*)", re.DOTALL)
_BEGIN = re.compile(rb"[^|\t\n]{1,200}\|t\|")
_NUMBER = re.compile(r"[0-9]{1,9}")
_TO_SPACE = str.maketrans(dict.fromkeys("\n\r\x00", " "))  # character by character, so that offsets do not change
_BREAK = re.compile(r"[\n\r\x00]")
_NOT_IN_NAME = re.compile("[\t\n\r\x00|\ufeff]")
_SPECIAL = re.compile(r"[\t\n\r\x00]")
_PARTS, _MORE = "parts", "columns"


def matches(source: Source) -> bool:
    """Return whether a file begins with a title line."""
    return any_looks(source, _looks_right)


def read(source: Source) -> Iterator[Item]:
    """Yield the documents of every file."""
    return (item for file in source.files for item in _read_file(file))


def iter_segments(file: InputFile) -> Iterator[Segment]:
    """Yield the documents of a file as bytes, and the bytes between them."""
    return iter_block_segments(file, lambda line: not line.strip(), lambda line: _BEGIN.match(line) is not None)


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets that survive writing.

    Line breaks, and tabs in types and ids, are replaced by spaces. Only one title and one abstract can be stored.
    """
    lost: set[Facet] = set()
    if _BREAK.search(document.text):
        lost.add("text")
    if document.passages != _passages(*_cut(document)):
        lost.add("passages")
    if _name(document) != document.id:
        lost.add("document ids")
    if any(_SPECIAL.search(mention.type) for mention in document.mentions):
        lost.add("types")
    if any(_SPECIAL.search(format_ids(mention)) or not keeps_ids(mention) for mention in document.mentions):
        lost |= {"concept ids", "composites"}
    known = _types_by_column(document.mentions)
    again = [_again(relation, known) for relation in document.relations]
    if any(not new or _bare(new) != _bare(old) for new, old in zip(again, document.relations, strict=True)):
        lost.add("relations")
    if not _keeps_notes(document, known):
        lost.add("notes")
    return HOLDS - lost


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write all documents to one file, one after the other."""
    with output.file() as file:
        for document in documents:
            file.write("".join(_write_document(document, style)).encode())


def _looks_right(file: InputFile) -> bool:
    return _BEGIN.match(head(file)) is not None


def _read_file(file: InputFile) -> Iterator[Item]:
    for lines in _blocks(file):
        try:
            yield from _document(lines, file.name)
        except MalformedError as e:
            yield e.problem(lines[0].text.partition("|")[0][:40] if _TEXT.fullmatch(lines[0].text) else "")


def _blocks(file: InputFile) -> Iterator[list[Line]]:
    """Yield the lines of each document, which ends at an empty line or before the next title."""
    pending: list[Line] = []
    for line in iter_lines(file):
        text = _TEXT.fullmatch(line.text)
        if pending and (not line.text.strip() or (text and text[2] == "t")):
            yield pending
            pending = []
        if line.text.strip():
            pending.append(line)
            require_few_lines(len(pending), file, line.number)
    if pending:
        yield pending


def _document(lines: list[Line], name: str) -> Iterator[Item]:
    require_good(lines)
    title = _TEXT.fullmatch(lines[0].text)
    if not title or title[2] != "t":
        raise MalformedError("a document does not begin with a title line", f"{name}:{lines[0].number}")
    abstract = _TEXT.fullmatch(lines[1].text) if len(lines) > 1 else None
    if abstract and abstract[1] != title[1]:
        raise MalformedError("the abstract and the title have different ids", f"{name}:{lines[1].number}")
    text, passages = _join_passages(title[3], abstract[3] if abstract else "")
    draft = Draft(title[1], text)
    draft.passages += passages
    known = _MentionIds(draft)
    for line in lines[2 if abstract else 1 :]:
        _read_line(draft, line.text, known, f"{name}:{line.number}")
    yield from draft.items()


def _join_passages(title: str, abstract: str) -> tuple[str, tuple[Passage, ...]]:
    """Join title and abstract by a space (if there is an abstract); return the text and its passages."""
    return (f"{title} {abstract}" if abstract else title), _passages(len(title), len(abstract))


def _passages(title: int, abstract: int) -> tuple[Passage, ...]:
    """Return the passages of a title and an abstract of these lengths."""
    first = Passage(0, title, "title")
    return (first, Passage(title + 1, title + 1 + abstract, "abstract")) if abstract else (first,)


class _MentionIds:
    """Maps the id columns of a draft's mentions to their types. Updated lazily, as mentions are added."""

    def __init__(self, draft: Draft) -> None:
        self._draft, self._count = draft, 0
        self._types: dict[str, str] = {}

    def types(self) -> dict[str, str]:
        self._types |= _types_by_column(self._draft.mentions[self._count :])
        self._count = len(self._draft.mentions)
        return self._types


def _read_line(draft: Draft, line: str, known: _MentionIds, where: str) -> None:
    columns = line.split("\t")
    if columns[0] != draft.id:
        raise MalformedError("the id of a line differs from the id of its document", where, draft.id)
    numbers = [cell.strip() for cell in columns[1:3]]
    if len(columns) >= 5 and all(map(_NUMBER.fullmatch, numbers)):
        start, end = map(int, numbers)
        _read_mention(draft, start, end, line.split("\t", 3)[3], where)
    elif len(columns) >= 4:
        draft.relations.append(_relation_of(columns[1:], known.types()))
    else:
        raise MalformedError("a line is neither a mention nor a relation", where, draft.id)


def _read_mention(draft: Draft, start: int, end: int, rest: str, where: str) -> None:
    surface = draft.text[start:end]
    if not rest.startswith(f"{surface}\t"):  # this column differs from the document text, so it is assumed to contain no tab
        surface = rest.partition("\t")[0]
    kind, *more = rest[len(surface) + 1 :].split("\t")
    concept_ids, notes = _parse_columns(more, kind)
    draft.add(start, end, surface, concept_ids=concept_ids, type=kind, notes=notes, where=where)


def _parse_columns(cells: list[str], kind: str) -> tuple[tuple[str, ...], Notes]:
    """Parse the columns after the type into ids and notes. If the id column has no id, a note keeps its text for the writer."""
    if not cells:
        return (), ()
    concept_ids, notes = parse_ids_with_note(cells[0], kind)
    notes = notes or (() if concept_ids else ((KEY, cells[0]),))
    return concept_ids, (*notes, (_PARTS, "\t".join(cells[1:]))) if len(cells) > 1 else notes


def _relation_of(cells: list[str], known: dict[str, str]) -> Relation:
    """Parse the columns after the document id into a relation."""
    arguments, notes = [], []
    for number, cell in enumerate(cells[1:3], 1):
        argument = _resolve_cell(cell, known)
        arguments.append((f"Arg{number}", argument))
        if _argument(argument) != cell:
            notes.append((f"{KEY}{number}", cell))
    if len(cells) > 3:
        notes.append((_MORE, "\t".join(cells[3:])))
    return Relation(cells[0], tuple(arguments), notes=tuple(notes))


def _types_by_column(mentions: Iterable[Mention]) -> dict[str, str]:
    """Map id columns of mentions to types, so that an id without a prefix gets the same prefix in relations."""
    return {format_ids(mention): mention.type for mention in mentions if mention.concept_ids}


def _resolve_cell(cell: str, known: dict[str, str]) -> str:
    concept_ids = parse_ids(cell, known.get(cell, ""))
    return concept_ids[0] if len(concept_ids) == 1 else cell


def _argument(concept_id: str) -> str:
    return ids_text((concept_id,)) if ":" in concept_id else concept_id


def _write_document(document: Document, style: Style) -> Iterator[str]:
    name, known = _name(document), _types_by_column(document.mentions)
    title, abstract = _cut(document)
    text = document.text.translate(_TO_SPACE)
    yield f"{name}|t|{text[:title]}\n{name}|a|{text[title + 1 :] if abstract else ''}\n"
    for mention in document.mentions:
        cells = [name, str(mention.start), str(mention.end), text[mention.start : mention.end], _clean(mention.type)]
        yield "\t".join([*cells, *_more_cells(mention, style)]) + "\n"
    for relation in document.relations:
        if _again(relation, known):
            yield "\t".join([name, *_relation_cells(relation, known, style)]) + "\n"
    yield "\n"


def _more_cells(mention: Mention, style: Style) -> list[str]:
    notes = dict(mention.notes)
    if not mention.concept_ids and KEY not in notes:
        return []
    ids = _clean(format_ids(mention, style)) or ("-" if notes.get(KEY) else "")
    return [ids, notes[_PARTS]] if _PARTS in notes and not _BREAK.search(notes[_PARTS]) else [ids]


def _relation_cells(relation: Relation, known: dict[str, str], style: Style) -> list[str]:
    notes = dict(relation.notes)
    cells = [_clean(relation.type)]
    for number, (_, argument) in enumerate(relation.arguments, 1):
        cells.append(_clean(_argument_cell(argument, notes.get(f"{KEY}{number}", ""), known, style)))
    return [*cells, _BREAK.sub(" ", notes[_MORE])] if _MORE in notes else cells


def _argument_cell(argument: str, noted: str, known: dict[str, str], style: Style) -> str:
    if style and ":" in argument:
        return ids_text((argument,), style=style)
    return noted if noted and _resolve_cell(noted, known) == argument else _argument(argument)


def _cut(document: Document) -> tuple[int, int]:
    """Return the lengths of title and abstract. The title is the first passage if a space follows it, else the whole text."""
    text = document.text
    if document.passages:
        first = document.passages[0]
        rest = len(text) - first.end - 1
        if first.start == 0 and rest > 0 and text[first.end] in " \n\r":
            return first.end, rest
    return len(text), 0


def _again(relation: Relation, known: dict[str, str]) -> Relation | None:
    """Return a relation as it would be read back after writing, or None if it would not be read as a relation."""
    cells = _relation_cells(relation, known, "")
    if len(cells) < 3 or (len(cells) > 3 and all(_NUMBER.fullmatch(cell.strip()) for cell in cells[:2])):
        return None
    return _relation_of("\t".join(cells).split("\t"), known)


def _keeps_notes(document: Document, known: dict[str, str]) -> bool:
    if document.notes or any(passage.notes for passage in document.passages):
        return False
    for mention in document.mentions:
        cells = "\t".join(_more_cells(mention, "")).split("\t") if _more_cells(mention, "") else []
        if _parse_columns(cells, _clean(mention.type))[1] != mention.notes:
            return False
    again = [_again(relation, known) for relation in document.relations]
    return all(new and new.notes == old.notes for new, old in zip(again, document.relations, strict=True))


def _bare(relation: Relation) -> Relation:
    return replace(relation, notes=())


def _name(document: Document) -> str:
    name = _NOT_IN_NAME.sub(" ", document.id)
    return name if name.strip() else "-"


def _clean(text: str) -> str:
    return _SPECIAL.sub(" ", text)
