"""Tests of FHIR and OMOP exports on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import onym, onym_bytes

NOTES = "11|t|No fever\n11|a|\n11\t3\t8\tfever\tDisease\tD005334\n\n"


@pytest.fixture
def folder(tmp_path: Path, tiny_kb: Path) -> Path:
    (tmp_path / "notes.pubtator").write_text(NOTES)
    (tmp_path / "terms.csv").write_text("code,diagnosis\n7,Fever\n8,zzz\n")
    (tmp_path / "kb").symlink_to(tiny_kb)
    return tmp_path


def test_documents_as_fhir(folder: Path) -> None:
    words = (
        "link",
        "notes.pubtator",
        "--kb",
        "kb",
        "--assertion",
        "--no-text",
        "--code-system",
        "mesh=http://a.example/mesh|26",
    )
    onym(*words, "-o", "a.fhir.ndjson", cwd=folder)
    (resource,) = map(json.loads, (folder / "a.fhir.ndjson").read_text().splitlines())
    values = resource["extension"][0]["extension"]
    (concept,) = (each["valueCodeableConcept"] for each in values if each["url"] == "concept")
    assert (concept["coding"][0]["system"], concept["coding"][0]["version"]) == ("http://a.example/mesh", "26")
    assert "text" not in concept
    assert {"url": "assertion", "valueCode": "negated"} in values
    streamed = onym_bytes(*words, "--format", "fhir", "-o", "-", cwd=folder)
    assert streamed == (folder / "a.fhir.ndjson").read_bytes()


def test_documents_as_note_nlp(folder: Path) -> None:
    words = ("link", "notes.pubtator", "--kb", "kb", "--assertion", "-o", "note_nlp.csv")
    assert "--nlp-date" in onym(*words, cwd=folder, status=2).stderr
    onym(*words, "--nlp-date", "2026-01-31", "--note-keys", "keys.csv", cwd=folder)
    assert "N,present,code=MESH:D005334" in (folder / "note_nlp.csv").read_text()
    assert (folder / "keys.csv").read_text() == "note_id,document,source,ordinal\n1,11,notes.pubtator,1\n"


def test_terms_as_a_concept_map(folder: Path) -> None:
    words = ("map", "terms.csv", "--column", "diagnosis", "--kb", "kb", "--linker", "exact")
    onym(*words, "--code-column", "code", "--fhir-version", "R5", "-o", "a.fhir.json", cwd=folder)
    resource = json.loads((folder / "a.fhir.json").read_bytes())
    assert [each["code"] for each in resource["group"][0]["element"]] == ["7", "8"]
    assert "omop-concepts" in onym(*words, "-o", "source_to_concept_map.csv", cwd=folder, status=2).stderr


def test_other_formats_reject_export_options(folder: Path) -> None:
    link = ("link", "notes.pubtator", "--kb", "kb", "--nlp-date", "2026-01-31")
    assert "config-invalid" in onym(*link, "--json", cwd=folder, status=2).stderr
    words = ("map", "terms.csv", "--column", "diagnosis", "--kb", "kb", "--fhir-version", "R5")
    assert "config-invalid" in onym(*words, "--json", cwd=folder, status=2).stderr
