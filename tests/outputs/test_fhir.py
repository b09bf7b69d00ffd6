"""Tests of FHIR values, validated with fhir.resources and the rules of the specification."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.outputs.base import Vocabularies
from onym.outputs.fhir import code_string, codeable_concept, coding, extension, string_of
from onym.types import Candidate, Link, Mention
from tests.robustness.outputs.rules import VERSIONS, fhir_problems

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(TEXT, TEXT, TEXT)
def test_any_link_gives_a_valid_codeable_concept(surface: str, name: str, local: str) -> None:
    mention = Mention(0, len(surface), surface)
    for link in (Link(mention), Link(mention, (Candidate(f"ward:{local}", name, 1.0, name),))):
        concept = codeable_concept(link)
        assert concept is not None or (link.concept_id is None and string_of(surface) is None)
        for version in VERSIONS if concept else ():
            assert fhir_problems({"resourceType": "CodeableConcept", **(concept or {})}, version) == []


def test_the_best_candidate_is_the_coding_and_the_mention_the_text() -> None:
    best, second = Candidate("mesh:D005334", "pyrexia", 0.9, "Fever"), Candidate("hp:0001945", "fever", 0.9, "Fever")
    link = Link(Mention(0, 7, "Pyrexia"), (best, second))
    expected = {"system": "https://www.nlm.nih.gov/mesh", "code": "D005334", "display": "Fever", "userSelected": False}
    assert codeable_concept(link) == {"coding": [expected], "text": "Pyrexia"}
    assert codeable_concept(link, text=False) == {"coding": [expected]}


def test_nil_answer_has_no_coding() -> None:
    link = Link(Mention(0, 3, "zzz"), (Candidate("mesh:D1", "a", 0.1),), nil_reason="below-precision")
    assert codeable_concept(link) == {"text": "zzz"}
    assert codeable_concept(link, text=False) is None


def test_user_defined_systems_and_versions() -> None:
    found = coding(Candidate("mesh:D1", "a name", 1.0), Vocabularies({"mesh": "http://a.example/mesh|2026"}))
    assert found == {
        "system": "http://a.example/mesh",
        "version": "2026",
        "code": "D1",
        "display": "a name",
        "userSelected": False,
    }


@pytest.mark.parametrize(
    ("text", "string", "code"), [("a\x00b", "a b", "a b"), (" a\t\n b ", " a\t\n b ", "a b"), ("\x01", None, None)]
)
def test_strings_and_codes(text: str, string: str | None, code: str | None) -> None:
    assert (string_of(text), code_string(text)) == (string, code)


def test_extensions_always_have_values() -> None:
    assert extension("score", "Decimal", 0.12345678) == [{"url": "score", "valueDecimal": 0.123457}]
    assert extension("ties", "UnsignedInt", 0) == [{"url": "ties", "valueUnsignedInt": 0}]
    assert extension("score", "Decimal", float("-inf")) == extension("confidence", "Decimal", None) == []
