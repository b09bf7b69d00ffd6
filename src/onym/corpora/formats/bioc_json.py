"""BioC in JSON: one collection, a list of documents, or one document per line (as from the PubTator API)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from onym.corpora.base import ALL, Facet, Item, MalformedError, Output, Segment, Style
from onym.corpora.formats._bioc import (
    BiocAnnotation,
    BiocDocument,
    BiocPassage,
    BiocRelation,
    bioc_of,
    by_passage,
    find_bioc_facets,
    items_of,
)
from onym.corpora.formats._files import any_looks, head, iter_objects
from onym.corpora.formats._segments import iter_json_segments
from onym.corpora.plain import Plain, identifier, number, objects, string
from onym.store.files.source import InputFile, Source
from onym.types import Document, Notes

HOLDS: frozenset[Facet] = ALL
IS_FOLDER = False
EXTENSIONS = (".biocjson",)

_KEYS = re.compile(rb'"documents"\s*:\s*\[|"passages"\s*:')
_LISTS = ("documents", "PubTator3")


def matches(source: Source) -> bool:
    """Return whether a file is JSON with passages and infons."""
    return any_looks(source, _looks_right)


def read(source: Source) -> Iterator[Item]:
    """Yield the documents of every file."""
    return (item for file in source.files for item in _read_file(file))


def iter_segments(file: InputFile) -> Iterator[Segment]:
    """Yield the documents of a file as bytes, and the bytes between them."""
    return iter_json_segments(file, _LISTS)


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets that survive writing. Passages must cover the text; note keys must be unique and not reserved."""
    return find_bioc_facets(document, unique_keys=True)


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write all documents as one JSON collection, with one document per line."""
    with output.file() as file:
        file.write(b'{"source":"","date":"","key":"","version":"1.0","infons":{},"documents":[')
        for number_of, document in enumerate(documents):
            plain = json.dumps(_plain(bioc_of(document, style)), ensure_ascii=False, separators=(",", ":"))
            file.write((",\n" if number_of else "\n").encode() + plain.encode())
        file.write(b"\n]}\n")


def _looks_right(file: InputFile) -> bool:
    data = head(file)
    return data[:1] in (b"{", b"[") and b'"infons"' in data and _KEYS.search(data) is not None


def _read_file(file: InputFile) -> Iterator[Item]:
    for where, plain in iter_objects(file, _LISTS):
        if isinstance(plain, MalformedError):
            yield plain.problem()
            continue
        document_id = ""
        try:
            document_id = identifier(plain, "id", where)
            yield from items_of(_bioc(plain, document_id, where), where)
        except MalformedError as e:
            yield e.problem(document_id)


def _bioc(plain: Plain, document_id: str, where: str) -> BiocDocument:
    bioc = BiocDocument(document_id, _infons(plain, where))
    for passage in objects(plain, "passages", where):
        sentences = [] if passage.get("text") else objects(passage, "sentences", where)
        for part in sentences or [passage]:
            own = _infons(passage, where) if part is passage else (*_infons(passage, where), *_infons(part, where))
            bioc.passages.append(BiocPassage(number(part, "offset", where), own, string(part, "text", where)))
        for part in (passage, *objects(passage, "sentences", where)):
            _add_annotations(bioc, part, where)
    _add_annotations(bioc, plain, where)
    return bioc


def _add_annotations(bioc: BiocDocument, plain: Plain, where: str) -> None:
    for annotation in objects(plain, "annotations", where):
        locations = objects(annotation, "locations", where)
        spans = tuple((number(location, "offset", where), number(location, "length", where)) for location in locations)
        surface = string(annotation, "text", where) if annotation.get("text") is not None else None
        bioc.annotations.append(BiocAnnotation(identifier(annotation, "id", where), _infons(annotation, where), spans, surface))
    for relation in objects(plain, "relations", where):
        nodes = objects(relation, "nodes", where)
        pairs = tuple((string(node, "role", where), identifier(node, "refid", where)) for node in nodes)
        bioc.relations.append(BiocRelation(identifier(relation, "id", where), _infons(relation, where), pairs))


def _infons(plain: Plain, where: str) -> Notes:
    infons = plain.get("infons") or {}
    if not isinstance(infons, dict):
        raise MalformedError("'infons' should be a JSON object", where)
    return tuple((key, _to_text(value)) for key, value in infons.items())


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _plain(bioc: BiocDocument) -> Plain:
    passages = [
        {
            "offset": passage.offset,
            "infons": dict(passage.infons),
            "text": passage.text,
            "sentences": [],
            "annotations": [_annotation(annotation) for annotation in annotations],
            "relations": [],
        }
        for passage, annotations in zip(bioc.passages, by_passage(bioc), strict=True)
    ]
    relations = [
        {
            "id": relation.id,
            "infons": dict(relation.infons),
            "nodes": [{"refid": refid, "role": role} for role, refid in relation.nodes],
        }
        for relation in bioc.relations
    ]
    return {
        "id": bioc.id, "infons": dict(bioc.infons), "passages": passages, "annotations": [], "relations": relations,
    }  # fmt: skip


def _annotation(annotation: BiocAnnotation) -> Plain:
    return {
        "id": annotation.id,
        "infons": dict(annotation.infons),
        "text": annotation.text,
        "locations": [{"offset": offset, "length": length} for offset, length in annotation.locations],
    }
