"""HPO's gold standard corpus GSC+: a line with the id, a line with the text, `start end surface id` lines, an empty line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from onym.corpora.base import Draft, Facet, Item, MalformedError, Output, Segment, Style, require_good
from onym.corpora.formats._files import any_looks, head, iter_lines, require_few_lines
from onym.corpora.formats._segments import iter_block_segments
from onym.corpora.ids import drop_type, format_ids, keeps_ids, parse_ids_with_note
from onym.store.files.lines import Line
from onym.store.files.source import InputFile, Source
from onym.types import Document

HOLDS: frozenset[Facet] = frozenset({"document ids", "text", "mentions", "concept ids", "composites"})
IS_FOLDER = False

_BEGIN = re.compile(rb"[^\t\n|]{1,200}\n[^\n]+\n[0-9]+\t[0-9]+\t[^\t\n]+\t[^\t\n]+(?:\n|$)")
_LINE = re.compile(r"([0-9]{1,9})\t([0-9]{1,9})\t(.*)", re.DOTALL)
_TO_SPACE = str.maketrans(dict.fromkeys("\n\r\x00", " "))
_BREAK = re.compile(r"[\n\r\x00]")
_NOT_IN_NAME = re.compile("[\t\n\r\x00\ufeff]")


def matches(source: Source) -> bool:
    """Return whether a file begins with an id, a text and an annotation."""
    return any_looks(source, _looks_right)


def read(source: Source) -> Iterator[Item]:
    """Yield the documents of every file."""
    return (item for file in source.files for item in _read_file(file))


def iter_segments(file: InputFile) -> Iterator[Segment]:
    """Yield the documents of a file as bytes, and the bytes between them."""
    return iter_block_segments(file, lambda line: line in (b"\n", b"\r\n"))


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets that survive writing. A text with line breaks is changed, and types are not stored."""
    lost: set[Facet] = set()
    if _BREAK.search(document.text):
        lost.add("text")
    if _name(document.id) != document.id:
        lost.add("document ids")
    mentions = [drop_type(mention) for mention in document.mentions]
    if any(not keeps_ids(each) or _NOT_IN_NAME.search(format_ids(each)) for each in mentions):
        lost |= {"concept ids", "composites"}
    return HOLDS - lost


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write documents one after the other."""
    with output.file() as file:
        for document in documents:
            text = document.text.translate(_TO_SPACE)
            lines = [_name(document.id), text] if text else [_name(document.id)]
            for mention in document.mentions:
                ids = _NOT_IN_NAME.sub(" ", format_ids(drop_type(mention), style)) or "-"
                lines.append(f"{mention.start}\t{mention.end}\t{text[mention.start : mention.end]}\t{ids}")
            file.write("".join(f"{line}\n" for line in [*lines, ""]).encode())


def _name(document_id: str) -> str:
    name = _NOT_IN_NAME.sub(" ", document_id)
    return name if name.strip() else "-"


def _looks_right(file: InputFile) -> bool:
    return _BEGIN.match(head(file).replace(b"\r\n", b"\n")) is not None


def _read_file(file: InputFile) -> Iterator[Item]:
    lines: list[Line] = []
    for line in iter_lines(file):
        if line.text:
            lines.append(line)
            require_few_lines(len(lines), file, line.number)
        elif lines:
            yield from _document(lines, file.name)
            lines = []
    if lines:
        yield from _document(lines, file.name)


def _document(lines: list[Line], name: str) -> Iterator[Item]:
    try:
        require_good(lines)
    except MalformedError as e:
        yield e.problem(lines[0].text[:40] if not lines[0].error else "")
        return
    draft = Draft(lines[0].text, lines[1].text if len(lines) > 1 else "")
    for line in lines[2:]:
        where = f"{name}:{line.number}"
        found = _LINE.fullmatch(line.text)
        if not found or "\t" not in found[3]:
            yield MalformedError("a line does not have the form START END surface ID", where).problem(draft.id)
            return
        start, end = int(found[1]), int(found[2])
        surface, _, ids = found[3].rpartition("\t")
        concept_ids, notes = parse_ids_with_note(ids)
        draft.add(start, end, surface, concept_ids=concept_ids, notes=notes, where=where)
    yield from draft.items()
