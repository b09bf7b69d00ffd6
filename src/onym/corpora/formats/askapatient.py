"""AskAPatient's folds: `code<tab>name<tab>phrase` lines in ISO-8859-1. Each phrase is a document with one mention."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from onym.corpora.base import Draft, Facet, Item, MalformedError, Output, Segment, Style
from onym.corpora.formats._files import any_looks, head, iter_lines
from onym.corpora.formats._segments import iter_line_segments
from onym.corpora.ids import drop_type, format_ids, keeps_ids, parse_ids_with_note
from onym.store.files.encodings import as_utf8
from onym.store.files.source import InputFile, Source
from onym.types import Document

HOLDS: frozenset[Facet] = frozenset({"text", "mentions", "concept ids", "composites"})
IS_FOLDER = False
DECODES = True

NAME = "name"
_PREFIX = "snomedct"
_BEGIN = re.compile(rb"[0-9]{6,18}\t[^\t\n]+\t[^\t\n]+\n")
_MARKS = re.compile(r"[\t\n\r\x00]")


def matches(source: Source) -> bool:
    """Return whether a text file begins with a code, a name and a phrase."""
    return any_looks(source, _looks_right)


def read(source: Source) -> Iterator[Item]:
    """Yield a document for each line; the document id is the file name and the line number."""
    return (item for file in source.files for item in _read_file(file))


def iter_segments(file: InputFile) -> Iterator[Segment]:
    """Yield the documents of a file as bytes, and the bytes between them."""
    return iter_line_segments(file, skip_blank=False)


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets that survive writing; none if the text is not a single mention or not in ISO-8859-1 characters."""
    text = document.text
    if len(document.mentions) != 1 or document.mentions[0].surface != text or _encode_text(text) != text or not text.strip():
        return frozenset()
    mention = drop_type(document.mentions[0])
    keeps = keeps_ids(mention, _PREFIX) and _encode_text(format_ids(mention, "", _PREFIX)) == format_ids(mention, "", _PREFIX)
    return HOLDS if keeps else HOLDS - {"concept ids", "composites"}


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write one line per mention; characters outside ISO-8859-1 become question marks."""
    with output.file() as file:
        for document in documents:
            for mention in document.mentions:
                name = dict(mention.notes).get(NAME, mention.surface)
                cells = (format_ids(drop_type(mention), style, _PREFIX) or "-1", name, mention.surface)
                file.write("\t".join(map(_encode_text, cells)).encode("latin-1") + b"\n")


def _looks_right(file: InputFile) -> bool:
    return file.stem.endswith(".txt") and _BEGIN.match(head(file)) is not None


def _read_file(file: InputFile) -> Iterator[Item]:
    stem = re.sub(r"^askapatient\.|\.txt$", "", file.stem)
    for line in iter_lines(as_utf8(file, "latin-1")):
        document_id, where = f"{stem}.{line.number}", f"{file.name}:{line.number}"
        if line.error:
            yield MalformedError.of(line.error).problem(document_id)
            continue
        cells = line.text.split("\t")
        if len(cells) != 3 or not cells[2]:
            yield MalformedError("a line does not have the three columns code, name, phrase", where).problem(document_id)
            continue
        code, name, phrase = cells
        concept_ids, notes = parse_ids_with_note(code, "", _PREFIX)
        draft = Draft(document_id, phrase)
        more = notes if name == phrase else (*notes, (NAME, name))
        draft.add(0, len(phrase), concept_ids=concept_ids, notes=more, where=where)
        yield from draft.items()


def _encode_text(text: str) -> str:
    return _MARKS.sub(" ", text).encode("latin-1", "replace").decode("latin-1")
