"""Reader of NLM's MeSH XML: descriptors (desc20xx.xml, .gz) and supplementary records (supp20xx.xml, .gz)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from onym.kb.readers._shared import ABBREVIATION_TAGS, branches, head, matching_files, tree_parents
from onym.kb.schema import Rows
from onym.store.files.source import InputFile, Source
from onym.store.files.xml import iter_records
from onym.types import NameKind, ParentKind

if TYPE_CHECKING:
    from onym.store.files.xml import Element

_YEAR = "[0-9]" * 4
_MAPPED = "HeadingMappedToList/HeadingMappedTo/DescriptorReferredTo/DescriptorUI"
_CLASSES = {  # SCRClass of supplementary records -> semantic groups
    "1": ("Chemical",), "2": ("Procedure",), "3": ("Disease",), "4": ("Species",), "5": ("Anatomy",), "6": ("Person",)
}  # fmt: skip
RECORDS = {"DescriptorRecord": "Descriptor", "SupplementalRecord": "SupplementalRecord"}


def matches(source: Source) -> bool:
    """Return whether an XML file begins with a MeSH record set."""
    return any(_is_mesh(file) for file in _files(source))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield terms of all concepts of each record, scope notes, semantic types, tree branches, parents and mapped headings."""
    rows, trees = Rows(source.name), []
    for file in matching_files(_files(source), _is_mesh):
        for record in iter_records(file, frozenset(RECORDS)):
            trees += _add(rows, record)
            yield from rows.full()
    yield from rows.rest()
    yield from tree_parents([pl.DataFrame(trees, schema=["concept_id", "tree"], orient="row")] if trees else [])


def _files(source: Source) -> list[InputFile]:
    """Return the XML files; NLM's compressed ones are named desc2026.gz, without `.xml`."""
    return [file for pattern in ("*.xml", f"desc{_YEAR}", f"supp{_YEAR}") for file in source.matching(pattern)]


def _is_mesh(file: InputFile) -> bool:
    first = head(file)
    return b"<DescriptorRecordSet" in first or b"<SupplementalRecordSet" in first


def _add(rows: Rows, record: Element) -> list[tuple[str, str]]:
    """Add the rows of a record, and return its tree numbers as (concept, number)."""
    ui = _text(record, f"{RECORDS[record.tag]}UI")
    if ui is None:
        return []
    concept_id = f"mesh:{ui}"
    for concept in record.iterfind("ConceptList/Concept"):
        for term in concept.iterfind("TermList/Term"):
            if name := _text(term, "String"):
                rows.add(concept_id, name=name, kind=_kind(term), language="en")
        if note := _text(concept, "ScopeNote"):
            rows.add(concept_id, definition=note)
        if types := [t.text for t in concept.iterfind("SemanticTypeList/SemanticType/SemanticTypeUI") if t.text]:
            rows.add(concept_id, semantic_types=types)
    if trees := [t.text for t in record.iterfind("TreeNumberList/TreeNumber") if t.text]:
        rows.add(concept_id, semantic_types=branches(trees))
    if note := _text(record, "Note"):
        rows.add(concept_id, definition=note)
    mapped = [ui.text.strip(" *") for ui in record.iterfind(_MAPPED) if ui.text]
    if mapped:
        rows.add(concept_id, parents=[f"mesh:{ui}" for ui in mapped], parent_kind=ParentKind.MAPPED_TO)
    if groups := _CLASSES.get(record.get("SCRClass", ""), ()):
        rows.add(concept_id, groups=groups)
    return [(concept_id, tree.strip()) for tree in trees]


def _kind(term: Element) -> NameKind:
    if term.get("RecordPreferredTermYN") == "Y":
        return NameKind.PREFERRED
    return NameKind.ABBREVIATION if term.get("LexicalTag") in ABBREVIATION_TAGS else NameKind.EXACT


def _text(element: Element, path: str) -> str | None:
    return " ".join((element.findtext(path) or "").split()) or None
