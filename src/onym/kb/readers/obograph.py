"""Reader of OBO Graphs JSON (`{"graphs": [{"nodes": […]}]}`). Written from the specification, not tested on real files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from onym.kb.curie import to_curie
from onym.kb.readers._shared import head, matching_files, objects, require_object, string, synonym_kind
from onym.kb.schema import Rows
from onym.store.files.json import iter_items
from onym.store.files.source import InputFile, Source
from onym.types import NameKind, SuccessorKind

_PREDICATES = {
    "hasExactSynonym": NameKind.EXACT,
    "hasNarrowSynonym": NameKind.NARROW,
    "hasBroadSynonym": NameKind.BROAD,
    "hasRelatedSynonym": NameKind.RELATED,
}
_REPLACED_BY = ("IAO_0100001", "replaced_by")
_CONSIDER, _ALTERNATIVE = "consider", "hasAlternativeId"
_IS_A = ("is_a", "subClassOf")


def matches(source: Source) -> bool:
    """Return whether a JSON file begins with a graph document."""
    return any(_is_graph(file) for file in source.matching("*.json"))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield labels, synonyms, definitions, cross-references, parents, alternative ids and successors of class nodes."""
    rows = Rows(source.name)
    for file in matching_files(source.matching("*.json"), _is_graph):
        for node in iter_items(file, "graphs.item.nodes.item"):
            _add(rows, require_object(node, file), file)
            yield from rows.full()
        for edge in iter_items(file, "graphs.item.edges.item"):
            _add_parent(rows, require_object(edge, file), file)
            yield from rows.full()
    yield from rows.rest()


def _is_graph(file: InputFile) -> bool:
    first = head(file)
    return first.startswith(b"{") and b'"graphs"' in first


def _add(rows: Rows, node: dict[str, Any], file: InputFile) -> None:
    iri, label = string(node, "id", file), string(node, "lbl", file)
    if not iri or string(node, "type", file) not in (None, "CLASS"):
        return
    concept_id = to_curie(iri)
    meta = require_object(node.get("meta") or {}, file)
    properties = [
        (string(p, "pred", file) or "", string(p, "val", file) or "") for p in objects(meta, "basicPropertyValues", file)
    ]
    for other in [value for pred, value in properties if pred.endswith(_ALTERNATIVE) and value]:
        rows.add(to_curie(other), kind=NameKind.RETIRED, successors=[concept_id], successor_kind=SuccessorKind.MERGED)
    if meta.get("deprecated") is True:
        replaced, others = ([to_curie(value) for pred, value in properties if pred.endswith(end) and value]
                            for end in (_REPLACED_BY, _CONSIDER))  # fmt: skip
        rows.add(concept_id, name=label, kind=NameKind.RETIRED, successors=replaced)
        if others:
            rows.add(concept_id, kind=NameKind.RETIRED, successors=others, successor_kind=SuccessorKind.CONSIDER)
        return
    rows.add(concept_id, name=label, kind=NameKind.PREFERRED)
    for synonym in objects(meta, "synonyms", file):
        scope = _PREDICATES.get((string(synonym, "pred", file) or "").rpartition("#")[2], NameKind.RELATED)
        kind = synonym_kind(scope, string(synonym, "synonymType", file) or "")
        if kind is not None and (name := string(synonym, "val", file)):
            rows.add(concept_id, name=name, kind=kind)
    definition = require_object(meta.get("definition") or {}, file)
    if text := string(definition, "val", file):
        rows.add(concept_id, definition=text)
    if xrefs := [to_curie(value) for x in objects(meta, "xrefs", file) if (value := string(x, "val", file))]:
        rows.add(concept_id, xrefs=xrefs)


def _add_parent(rows: Rows, edge: dict[str, Any], file: InputFile) -> None:
    child, kind, parent = (string(edge, key, file) for key in ("sub", "pred", "obj"))
    if child and parent and kind and kind.endswith(_IS_A):
        rows.add(to_curie(child), parents=[to_curie(parent)])
