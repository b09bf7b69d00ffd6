"""Tests that the validators of exports reject broken files and accept valid ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onym.kb import KnowledgeBase
from onym.methods.exact import ExactLinker
from onym.outputs.fhir import fhir_document
from onym.outputs.omop import CONCEPTS, NoteNlp, OmopConcept, OmopConcepts, StandardConcept, write_note_nlp
from onym.pipeline import Pipeline
from tests.outputs.test_fhir_concept_map import MAPPINGS, RELEASES, write_map
from tests.outputs.test_fhir_documents import make_linked
from tests.outputs.test_omop_note_nlp import DAY
from tests.outputs.test_omop_note_nlp import make_linked as note
from tests.robustness.outputs.broken import (
    NOTE_NLP,
    iter_broken_documents,
    iter_broken_maps,
    iter_broken_tables,
    write_stand_in,
)
from tests.robustness.outputs.exports import _count_lost_codes, _count_lost_mentions, _count_lost_rows, _count_lost_terms
from tests.robustness.outputs.rules import VERSIONS, OmopDatabase, fhir_problems


@pytest.mark.parametrize("version", VERSIONS)
def test_rejects_broken_documents(version: str) -> None:
    good = fhir_document(make_linked())
    assert fhir_problems(good, version) == []
    assert [bool(fhir_problems(each, version)) for each in iter_broken_documents(good)] == [True] * 27


def test_rejects_broken_maps(tiny_kb: Path) -> None:
    pipeline = Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb)))
    for version in RELEASES:
        good: dict[str, Any] = write_map(MAPPINGS, pipeline, version=version)
        assert [bool(fhir_problems(each, version)) for each in iter_broken_maps(good, version)] == [True] * 13


def test_rejects_broken_tables_and_accepts_valid_one(tiny_kb: Path, tmp_path: Path) -> None:
    write_stand_in(KnowledgeBase.open(tiny_kb), tmp_path)
    concepts = OmopConcepts.read(tmp_path, {"MeSH"})
    assert [len(each.standard) for code in ("D005334", "D006973", "D009203") if (each := concepts.find("MeSH", code))] == [
        1,
        1,
        2,
    ]
    database = OmopDatabase()
    database.add_concepts(tmp_path / CONCEPTS)
    with (tmp_path / "good.csv").open("wb") as file:
        write_note_nlp([note("fever")], NoteNlp(DAY, concepts=concepts), file)
    assert database.invalid_rows(tmp_path / "good.csv", "note_nlp") == 0
    refused = [
        database.invalid_rows(path, "note_nlp") > 0 for path in iter_broken_tables(tmp_path / "good.csv", NOTE_NLP, tmp_path)
    ]
    assert refused == [True] * len(NOTE_NLP)


def test_counts_lost_mentions_and_terms(tiny_kb: Path, tmp_path: Path) -> None:
    doc = make_linked(assertion=("negated",))
    assert [_count_lost_mentions(doc, each) for each in (fhir_document(doc), fhir_document(make_linked()), {})] == [0, 1, 1]
    path, fever = tmp_path / "note_nlp.csv", note("fever")
    with path.open("wb") as file:
        write_note_nlp([fever], NoteNlp(DAY), file)
    assert _count_lost_rows([fever], path, OmopConcepts(), is_numbered=False) == 0
    assert _count_lost_rows([fever, fever], path, OmopConcepts(), is_numbered=True) == 3, (
        "another note, and two that are not there"
    )
    resource = write_map(MAPPINGS, Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb))))
    answers: dict[str, str | None] = {"Fever": "mesh:D005334", "hart attack": "mesh:D009203", "zzz": None}
    others = (answers, answers | {"zzz": "mesh:D1"}, answers | {"more": None})
    assert [_count_lost_terms(each, resource) for each in others] == [0, 1, 1]
    table = tmp_path / "map.csv"
    table.write_text("source_code,target_concept_id\nFever,4\nzzz,0\n")
    concepts = OmopConcepts({("MeSH", "D005334"): OmopConcept(3, (StandardConcept(4, "SNOMED"),))})
    assert [_count_lost_codes(each, table, concepts) for each in ({"Fever": "mesh:D005334", "zzz": None}, answers)] == [0, 1]
