"""Tests of choosing FHIR and OMOP exports by extension, and of their required options."""

from __future__ import annotations

import csv
import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.methods.exact import ExactLinker
from onym.outputs.base import ExportOptions, check_terms, format_of_path
from onym.outputs.links import format_of, require_linked_output, write_links
from onym.outputs.mapping import map_table, require_mapping
from onym.pipeline import Pipeline
from onym.types import Document, Mention
from tests.outputs.test_omop_concepts import athena

DAY = datetime.date(2026, 1, 31)
DOC = Document("11", "fever, zzz", (Mention(0, 5, "fever"), Mention(7, 10, "zzz")))


@pytest.fixture
def pipeline(tiny_kb: Path) -> Pipeline:
    return Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb)))


@pytest.fixture
def vocabulary(tmp_path: Path) -> Path:
    folder = tmp_path / "athena"
    folder.mkdir()
    return athena(folder, [(3, "MeSH", "", "D005334"), (4, "SNOMED", "S", "386661006")], [(3, 4, "Maps to", "")])


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    path = tmp_path / "terms.csv"
    path.write_text("code,term\n7,Fever\n8,zzz\n9,heart attack\n")
    return path


def rows_in(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_extension_selects_the_format() -> None:
    names = ("a.fhir.ndjson", "note_nlp.csv", "ward_note_nlp.csv", "a.csv", "a.ndjson")
    assert [format_of_path(Path(name)) for name in names] == ["fhir", "omop", "omop", "table", ""]
    assert format_of(Path("a.fhir.ndjson")) == "fhir"
    names = ("a.fhir.json", "source_to_concept_map.csv", "a.sssom.tsv", "a.tsv", "a.json")
    assert [format_of_path(Path(name), "TERM_ENDINGS") for name in names] == ["fhir", "omop", "sssom", "table", ""]


def test_documents_as_fhir(pipeline: Pipeline, tmp_path: Path) -> None:
    path = tmp_path / "a.fhir.ndjson"
    counts = write_links([DOC], pipeline, path, "fhir")
    assert (counts.documents, counts.mentions, counts.linked) == (1, 2, 1)
    (resource,) = map(json.loads, path.read_text().splitlines())
    assert len(resource["extension"]) == 2


def test_documents_as_note_nlp(pipeline: Pipeline, tmp_path: Path, vocabulary: Path) -> None:
    path, keys = tmp_path / "note_nlp.csv", tmp_path / "keys.csv"
    options = ExportOptions(nlp_date=DAY, omop_vocabulary=vocabulary)
    write_links([DOC], pipeline, path, "omop", options=options)
    found = rows_in(path)
    assert [(row["note_id"], row["note_nlp_concept_id"], row["note_nlp_source_concept_id"]) for row in found] == [
        ("11", "4", "3"),
        ("11", "0", "0"),
    ]
    assert found[0]["nlp_system"].startswith("onym 0.1.0; linker exact; knowledge base ")
    named = Document("ward 7", DOC.text, DOC.mentions)
    with pytest.raises(InputError, match="omop-note-id"):
        write_links([named], pipeline, tmp_path / "b_note_nlp.csv", "omop", options=options)
    write_links([named], pipeline, path, "omop", options=ExportOptions(nlp_date=DAY, note_keys=keys), force=True)
    assert [row["note_id"] for row in rows_in(path)] == ["1", "1"]
    assert rows_in(keys) == [{"note_id": "1", "document": "ward 7", "source": "", "ordinal": "0"}]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["athena", "keys.csv", "note_nlp.csv"]


def test_terms_as_a_concept_map(pipeline: Pipeline, tmp_path: Path, terms: Path) -> None:
    path = tmp_path / "a.fhir.json"
    options = ExportOptions.of(code_column="code", source_system="http://a.example/ward", fhir_version="R5")
    assert map_table(terms, "term", pipeline, path, options=options)["mapped"] == 2
    (group,) = json.loads(path.read_bytes())["group"]
    assert group["source"] == "http://a.example/ward"
    assert [each["code"] for each in group["element"]] == ["7", "8", "9"]
    assert "relationship" in group["element"][0]["target"][0]
    map_table(terms, "term", pipeline, path, force=True)
    assert "equivalence" in json.loads(path.read_bytes())["group"][0]["element"][0]["target"][0]


def test_terms_as_a_source_to_concept_map(pipeline: Pipeline, tmp_path: Path, terms: Path, vocabulary: Path) -> None:
    path = tmp_path / "source_to_concept_map.csv"
    options = ExportOptions(omop_vocabulary=vocabulary, source_system="WARD", code_column="code")
    counts = map_table(terms, "term", pipeline, path, options=options)
    assert (counts["mapped"], counts["not in OMOP"]) == (2, 1)
    assert [(row["source_code"], row["target_concept_id"], row["target_vocabulary_id"]) for row in rows_in(path)] == [
        ("7", "4", "SNOMED"),
        ("8", "0", "None"),
        ("9", "0", "None"),
    ]


@pytest.mark.parametrize(
    ("name", "form", "options", "code"),
    [
        ("note_nlp.csv", "omop", {}, "omop-date"),
        ("a.fhir.ndjson", "fhir", {"nlp_date": "2026-01-31"}, "config-invalid"),
        ("a.fhir.ndjson", "fhir", {"note_keys": Path("keys.csv")}, "config-invalid"),
        ("a.fhir.ndjson", "fhir", {"omop_vocabulary": Path("athena")}, "config-invalid"),
        ("a.fhir.ndjson", "fhir", {"code_systems": ["mesh=MeSH"]}, "config-invalid"),
        ("note_nlp.csv", "omop", {"nlp_date": "2026-01-31", "code_systems": ["mesh=http://a.example/mesh"]}, "config-invalid"),
        ("note_nlp.csv", "omop", {"nlp_date": "2026-01-31", "note_keys": Path("note_nlp.csv")}, "config-invalid"),
        ("a.csv", "table", {"nlp_date": "2026-01-31"}, "config-invalid"),
        ("a.jsonl", "predictions", {"code_systems": ["mesh=http://a.example/mesh"]}, "config-invalid"),
    ],
)
def test_rejects_invalid_options_before_any_work(name: str, form: str, options: dict[str, Any], code: str) -> None:
    with pytest.raises(ConfigError, match=code):
        require_linked_output(Path(name), form, options=ExportOptions.of(**options))


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("source_to_concept_map.csv", {}, "omop-concepts"),
        ("source_to_concept_map.csv", {"omop_vocabulary": Path(), "fhir_version": "R5"}, "input-missing"),
        ("a.fhir.json", {"source_system": "WARD"}, "config-invalid"),
        ("a.tsv", {"fhir_version": "R5"}, "config-invalid"),
        ("a.tsv", {"code_column": "code"}, "config-invalid"),
    ],
)
def test_rejects_invalid_options_of_mappings(name: str, options: dict[str, Any], code: str) -> None:
    with pytest.raises((ConfigError, InputError), match=code):
        check_terms(Path(name), ExportOptions.of(**options))


def test_omop_rejects_the_fhir_version(vocabulary: Path) -> None:
    options = ExportOptions(omop_vocabulary=vocabulary, fhir_version="R5")
    with pytest.raises(ConfigError, match="--fhir-version"):
        check_terms(Path("source_to_concept_map.csv"), options)
    with pytest.raises(ConfigError, match="vocabulary_id"):
        check_terms(Path("source_to_concept_map.csv"), ExportOptions(omop_vocabulary=vocabulary, source_system="x" * 21))


@pytest.mark.parametrize("day", ["2026-13-01", "today", "31.01.2026"])
def test_rejects_invalid_dates(day: str) -> None:
    with pytest.raises(ConfigError, match="omop-date"):
        ExportOptions.of(nlp_date=day)


def test_does_not_overwrite_an_existing_keys_file(tmp_path: Path) -> None:
    keys = tmp_path / "keys.csv"
    keys.touch()
    options = ExportOptions(nlp_date=DAY, note_keys=keys)
    with pytest.raises(ConfigError, match="output-exists"):
        require_linked_output(tmp_path / "note_nlp.csv", "omop", options=options)
    require_linked_output(tmp_path / "note_nlp.csv", "omop", options=options, force=True)


def test_rejects_a_missing_code_column(terms: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="table-columns"):
        require_mapping(terms, "term", tmp_path / "a.fhir.json", options=ExportOptions(code_column="kode"))
