"""Tests of writing mapped terms as a ConceptMap; the result is validated as R4B and R5."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onym.kb import KnowledgeBase
from onym.methods.exact import ExactLinker
from onym.outputs.base import Vocabularies
from onym.outputs.fhir import TERMS, write_concept_map
from onym.outputs.terms import TermMapping
from onym.pipeline import Pipeline
from onym.types import Candidate
from onym.vocabularies import FhirVersion
from tests.outputs.test_fhir import TEXT
from tests.robustness.outputs.rules import VERSIONS, fhir_problems

FEVER, INFARCT = Candidate("mesh:D005334", "fever", 0.9), Candidate("mesh:D009203", "heart attack", 0.8)
RELEASES: tuple[FhirVersion, ...] = ("R4B", "R5")


@pytest.fixture(scope="module")
def pipeline(tiny_kb: Path) -> Pipeline:
    return Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb)))


def write_map(mappings: list[TermMapping], pipeline: Pipeline, **more: Any) -> dict[str, Any]:
    file = io.BytesIO()
    write_concept_map(mappings, pipeline, file, **more)
    found: dict[str, Any] = json.loads(file.getvalue())
    return found


MAPPINGS = [
    TermMapping(("1", "Fever"), "Fever", (FEVER,), confidence=0.97),
    TermMapping(("2", "hart attack"), "hart attack", (INFARCT, FEVER)),
    TermMapping(("3", "zzz"), "zzz", ()),
    TermMapping(("4", ""), "", ()),
]


@pytest.mark.parametrize("version", RELEASES)
def test_relations_are_those_of_the_release(pipeline: Pipeline, version: FhirVersion) -> None:
    resource = write_map(MAPPINGS, pipeline, version=version)
    assert fhir_problems(resource, version) == []
    (group,) = resource["group"]
    assert (group["source"], group["target"]) == (TERMS, "https://www.nlm.nih.gov/mesh")
    fever, infarct, unknown = group["element"]
    name = {"R4B": "equivalence", "R5": "relationship"}[version]
    assert (fever["code"], fever["target"][0]["code"], fever["target"][0][name]) == ("Fever", "D005334", "equivalent")
    assert infarct["target"][0][name] == {"R4B": "relatedto", "R5": "related-to"}[version]
    assert len(infarct["target"]) == 1, "other candidates are left out"
    assert unknown["code"] == "zzz"
    assert (unknown.get("noMap"), unknown.get("target")) == {
        "R4B": (None, [{"equivalence": "unmatched"}]),
        "R5": (True, None),
    }[version]
    confidence = {"url": "urn:onym:fhir:confidence", "valueDecimal": 0.97}
    assert fever["target"][0]["extension"] == [confidence, {"url": "urn:onym:fhir:score", "valueDecimal": 0.9}]


def test_codes_come_from_their_own_column_and_have_their_own_system(pipeline: Pipeline) -> None:
    resource = write_map(MAPPINGS, pipeline, code_column=0, source="http://a.example/diagnoses")
    (group,) = resource["group"]
    assert group["source"] == "http://a.example/diagnoses"
    assert [(each["code"], each["display"]) for each in group["element"]] == [
        ("1", "Fever"),
        ("2", "hart attack"),
        ("3", "zzz"),
    ]


def test_a_code_of_several_rows_is_one_element_with_all_targets(pipeline: Pipeline) -> None:
    rows = [
        TermMapping(("7", "zzz"), "zzz", ()),
        TermMapping(("7", "Fever"), "Fever", (FEVER,)),
        TermMapping(("7", "Fever"), "Fever", (FEVER,)),
        TermMapping(("7", "Heart attack"), "Heart attack", (INFARCT,)),
        TermMapping((" ", "Fever"), "Fever", (FEVER,)),
    ]
    (group,) = write_map(rows, pipeline, code_column=0)["group"]
    (element,) = group["element"]
    assert [target["code"] for target in element["target"]] == ["D005334", "D009203"]


def test_each_vocabulary_has_a_group_and_terms_without_an_answer_are_in_the_first(pipeline: Pipeline, tiny_kb: Path) -> None:
    own = Vocabularies({"mesh": "http://a.example/mesh|2026"})
    for version in RELEASES:
        resource = write_map(MAPPINGS, pipeline, version=version, vocabularies=own)
        assert fhir_problems(resource, version) == []
        (group,) = resource["group"]
        if version == "R5":
            assert group["target"] == "http://a.example/mesh|2026"
        else:
            assert (group["target"], group["targetVersion"]) == ("http://a.example/mesh", "2026")


@pytest.mark.parametrize("version", RELEASES)
def test_empty_maps_are_valid(pipeline: Pipeline, version: FhirVersion) -> None:
    assert "group" not in write_map([], pipeline, version=version)
    assert fhir_problems(write_map([], pipeline, version=version), version) == []
    unmapped = write_map([TermMapping(("zzz",), "zzz", ())], pipeline, version=version)
    assert fhir_problems(unmapped, version) == []
    assert unmapped["group"][0]["target"] == "https://www.nlm.nih.gov/mesh"


def test_a_tie_is_not_equivalent(pipeline: Pipeline) -> None:
    resource = write_map([TermMapping(("fever",), "fever", (FEVER, INFARCT), tied=1)], pipeline)
    (target,) = resource["group"][0]["element"][0]["target"]
    assert target["equivalence"] == "relatedto"
    assert target["comment"] == "matched name: fever; 1 more with the same score"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXT, max_size=4), st.sampled_from(RELEASES))
def test_any_terms_make_a_valid_map(pipeline: Pipeline, terms: list[str], version: FhirVersion) -> None:
    rows = [TermMapping((term,), term.strip(), (FEVER,) if number % 2 else ()) for number, term in enumerate(terms)]
    assert fhir_problems(write_map(rows, pipeline, version=version), version) == []
    assert set(VERSIONS) == set(RELEASES)


def test_the_same_mappings_make_the_same_bytes(pipeline: Pipeline) -> None:
    assert write_map(MAPPINGS, pipeline) == write_map(MAPPINGS, pipeline)
    assert write_map(MAPPINGS, pipeline)["url"] != write_map(MAPPINGS[:1], pipeline)["url"]
