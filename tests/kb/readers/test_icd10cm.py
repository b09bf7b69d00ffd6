"""Tests of reading the tabular list of ICD-10-CM."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lxml import etree

from onym.kb import readers
from onym.store.files.source import Source
from tests.kb.readers.conftest import facts_of, names_of, rows_of, source_of
from tests.support.releases import SAMPLES

(LIST,) = SAMPLES["icd10cm"]


def test_is_recognised() -> None:
    assert readers.detect(source_of(LIST)) == "icd10cm"


def test_reads_titles_and_inclusion_terms() -> None:
    assert names_of(rows_of(LIST, "icd10cm")) == [
        ("icd10cm:A00-B99", "Made-up diseases", "preferred"),
        ("icd10cm:A00-A09", "Fevers", "preferred"),
        ("icd10cm:A00", "Made-up fever", "preferred"),
        ("icd10cm:A00", "MUF", "exact"),
        ("icd10cm:A00", "Fever, made-up", "exact"),
        ("icd10cm:A00.0", "Made-up fever of the <first> kind", "preferred"),
        ("icd10cm:A00.8", "Other made-up fever", "preferred"),
        ("icd10cm:A00.8", "Fever of paper", "narrow"),
        ("icd10cm:A00-A03", "Some fevers", "preferred"),
        ("icd10cm:A03", "Fever of ink", "preferred"),
    ]


def test_reads_the_hierarchy() -> None:
    assert facts_of(rows_of(LIST, "icd10cm"), "parents") == [
        ("icd10cm:A00-A09", ["icd10cm:A00-B99"]),
        ("icd10cm:A00", ["icd10cm:A00-A09"]),
        ("icd10cm:A00.0", ["icd10cm:A00"]),
        ("icd10cm:A00.8", ["icd10cm:A00"]),
        ("icd10cm:A00-A03", ["icd10cm:A00-A09"]),
        ("icd10cm:A03", ["icd10cm:A00-A03"]),
    ]


def test_a_section_of_one_category_is_not_its_own_parent() -> None:
    text = (
        "<ICD10CM.tabular><chapter><name>1</name><desc>All (A00-A09)</desc>"
        '<section id="A00"><desc>One (A00)</desc><diag><name>A00</name><desc>One</desc></diag></section>'
        "</chapter></ICD10CM.tabular>"
    )
    rows = rows_of({"icd.xml": text}, "icd10cm")
    assert facts_of(rows, "parents") == [("icd10cm:A00", ["icd10cm:A00-A09"])]


def test_counts_of_a_genuine_release() -> None:
    path = Path(os.environ.get("ONYM_ICD10CM") or "/nonexistent")
    if not path.is_file():
        pytest.skip("ONYM_ICD10CM does not name the file of a release, icd10cm_tabular_*.xml")
    root = etree.parse(path).getroot()
    codes = {each.findtext("name") for each in root.iter("diag")} | {each.get("id") for each in root.iter("section")}
    terms = [note for each in root.iter("inclusionTerm") for note in each.iterfind("note")]
    batches = list(readers.read(Source.open(path), "icd10cm"))
    rows = [row for batch in batches for row in batch.to_pylist()]
    found = {row["concept_id"] for row in rows}
    assert len(found) == len(codes) + len(root.findall("chapter"))
    assert sum(row["name"] is not None and row["kind"] != 0 for row in rows) == len(terms)
    assert len({row["concept_id"] for row in rows if row["parents"]}) == len(codes)
