"""doccano's JSON lines for sequence labelling: a text with labels, each with start, end and type.

Exports of projects with relations have `entities` instead of `label`; these are read too. doccano has no concept ids. They are
written to `concepts`, with the offsets and the type of their labels. doccano keeps that, like `document_id`, as metadata of the
text, and exports it again: labels that nobody changed then have their ids, and new or changed ones have none. A label that is
an id itself, such as `MESH:D003924`, is read as one. Offsets are code points.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any

from onym.corpora.base import Draft, Facet, Item, MalformedError, Output, Style
from onym.corpora.formats._files import any_looks, head, iter_objects
from onym.corpora.plain import Plain, identifier, number, objects, string
from onym.kb.curie import to_curie
from onym.store.files.source import InputFile, Source
from onym.types import Document, style_id

HOLDS: frozenset[Facet] = frozenset({"document ids", "text", "mentions", "types", "concept ids", "composites"})
IS_FOLDER = False

_NO_TYPE = "Mention"
"""The label of a mention without a type, since doccano needs one."""
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.]*:[A-Za-z]{0,5}_?[0-9]+")
_LABELS = re.compile(rb'"labels?"\s*:\s*\[\s*[\[\]]|"start_offset"\s*:')
_Label = tuple[int, int, str]


def matches(source: Source) -> bool:
    """Return whether a file begins with a JSON object that has labels."""
    return any_looks(source, _looks_right)


def read(source: Source) -> Iterator[Item]:
    """Yield the documents of every file."""
    return (item for file in source.files for item in _read_file(file))


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets that survive writing. Types that look like ids are lost."""
    lost: set[Facet] = set()
    if any(mention.type == _NO_TYPE or _ID.fullmatch(mention.type) for mention in document.mentions):
        lost |= {"types", "concept ids", "composites"}
    if any(to_curie(_format_id(curie, ""), "local") != curie for mention in document.mentions for curie in mention.concept_ids):
        lost |= {"concept ids", "composites"}
    return HOLDS - lost


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write one line per document."""
    with output.file() as file:
        for document in documents:
            file.write(json.dumps(_plain(document, style), ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def _looks_right(file: InputFile) -> bool:
    data = head(file)
    return data[:1] in (b"{", b"[") and _LABELS.search(data) is not None


def _read_file(file: InputFile) -> Iterator[Item]:
    for where, plain in iter_objects(file):
        document_id = ""
        try:
            if isinstance(plain, MalformedError):
                raise plain
            key = next((each for each in ("document_id", "id") if plain.get(each) is not None), "")
            document_id = identifier(plain, key, where) if key else file.stem.removesuffix(".json")
            yield from _draft(plain, document_id, where).items()
        except MalformedError as e:
            yield e.problem(document_id)


def _draft(plain: Plain, document_id: str, where: str) -> Draft:
    if not isinstance(plain.get("text"), str):
        raise MalformedError("a document has no 'text'", where)
    draft = Draft(document_id, plain["text"])
    concepts: defaultdict[_Label, deque[tuple[str, ...]]] = defaultdict(deque)
    for row in _rows(plain, "concepts", 4, where):
        if not isinstance(row[3], list) or not all(isinstance(each, str) for each in row[3]):
            raise MalformedError("'concepts' should have lists of ids", where)
        concepts[_label(row, where)].append(tuple(row[3]))
    for start, end, kind in _labels(plain, where):
        waiting = concepts.get((start, end, kind))
        ids = waiting.popleft() if waiting else (kind,) if _ID.fullmatch(kind) else ()
        is_type = kind != _NO_TYPE and not _ID.fullmatch(kind)
        draft.add(
            start,
            end,
            concept_ids=tuple(to_curie(each, "local") for each in ids),
            type=kind if is_type else "",
            where=where,
        )
    return draft


def _labels(plain: Plain, where: str) -> Iterator[_Label]:
    for key in ("label", "labels"):
        yield from (_label(row, where) for row in _rows(plain, key, 3, where))
    for entity in objects(plain, "entities", where):
        yield number(entity, "start_offset", where), number(entity, "end_offset", where), string(entity, "label", where)


def _rows(plain: Plain, key: str, length: int, where: str) -> list[list[Any]]:
    rows = plain.get(key)
    if rows is None:
        return []
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == length for row in rows):
        raise MalformedError(f"{key!r} should be a list of lists of {length}", where)
    return rows


def _label(row: list[Any], where: str) -> _Label:
    start, end, kind = row[:3]
    if not type(start) is type(end) is int or not isinstance(kind, str):
        raise MalformedError("a label should have a start, an end and a type", where)
    return start, end, kind


def _plain(document: Document, style: Style) -> Plain:
    labels = [[mention.start, mention.end, mention.type or _NO_TYPE] for mention in document.mentions]
    ids = [[_format_id(curie, style) for curie in mention.concept_ids] for mention in document.mentions]
    return {
        "text": document.text,
        "label": labels,
        "document_id": document.id,
        "concepts": [[*label, own] for label, own in zip(labels, ids, strict=True)],
    }


def _format_id(curie: str, style: Style) -> str:
    return style_id(curie, style or "obo")
