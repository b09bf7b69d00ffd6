"""Tests of writing linked documents as FHIR resources."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from onym.outputs.base import OutputContext
from onym.outputs.fhir import MENTION, fhir_document, write
from onym.types import Candidate, Document, Link, LinkedDocument, Mention, Problem
from tests.outputs.test_fhir import TEXT
from tests.robustness.outputs.rules import VERSIONS, fhir_problems

FEVER = Candidate("mesh:D005334", "fever", 1.0, "Fever", "Disease")


def make_linked(text: str = "No fever", start: int = 3, **more: Any) -> LinkedDocument:
    mention = Mention(start, len(text), text[start:])
    return LinkedDocument(Document("n1", text, (mention,)), (Link(mention, (FEVER,), **more),))


def values(resource: dict[str, Any]) -> list[tuple[str, Any]]:
    (mention,) = resource["extension"]
    assert mention["url"] == MENTION
    return [(each["url"], next(value for key, value in each.items() if key != "url")) for each in mention["extension"]]


def test_a_document_is_a_basic_resource_whose_subject_is_the_document() -> None:
    resource = fhir_document(make_linked(confidence=0.5, assertion=("negated", "historical")))
    assert resource["resourceType"] == "Basic"
    assert resource["subject"] == {"type": "DocumentReference", "identifier": {"value": "n1"}}
    found = values(resource)
    assert [name for name, _ in found] == ["start", "end", "concept", "type", "confidence", "score", "assertion", "assertion"]
    assert dict(found) | {"concept": None} == {
        "start": 3,
        "end": 8,
        "concept": None,
        "type": "Disease",
        "confidence": 0.5,
        "score": 1.0,
        "assertion": "historical",
    }


def test_resource_does_not_mention_a_patient() -> None:
    kinds = {"Condition", "Observation", "AllergyIntolerance", "Procedure", "MedicationStatement", "Patient"}
    assert not kinds & set(json.dumps(fhir_document(make_linked())).replace('"', " ").split())


def test_an_unlinked_mention_is_written_with_its_reason() -> None:
    mention = Mention(0, 3, "zzz")
    doc = LinkedDocument(Document("1", "zzz", (mention,)), (Link(mention),))
    assert ("nil-reason", "no-candidate") in values(fhir_document(doc))
    found = values(fhir_document(doc, text=False))
    assert [name for name, _ in found] == ["start", "end", "nil-reason"]


def test_fragments_and_ties() -> None:
    mention = Mention(0, 17, "breast ... cancer", parts=((0, 6), (11, 17)))
    other = Candidate("mesh:D2", "cancer", 1.0)
    doc = LinkedDocument(Document("1", mention.surface, (mention,)), (Link(mention, (FEVER, other)),))
    resource = fhir_document(doc)
    found = values(resource)
    assert [value for name, value in found if name == "part"] == [
        [{"url": "start", "valueUnsignedInt": 0}, {"url": "end", "valueUnsignedInt": 6}],
        [{"url": "start", "valueUnsignedInt": 11}, {"url": "end", "valueUnsignedInt": 17}],
    ]
    assert ("ties", 1) in found
    assert [fhir_problems(resource, version) for version in VERSIONS] == [[], []]


@pytest.mark.parametrize("text", [True, False])
@given(TEXT, TEXT)
def test_any_text_and_any_id_make_a_valid_resource(text: bool, content: str, name: str) -> None:
    mention = Mention(0, len(content), content, type=content[:5])
    links = (Link(mention, (Candidate("mesh:D1", content, 0.1, content),), assertion=("possible",)), Link(mention))
    resource = fhir_document(LinkedDocument(Document(name, content, (mention,)), links), text=text)
    for version in VERSIONS:
        assert fhir_problems(json.loads(json.dumps(resource)), version) == []


def test_writes_one_line_per_linked_document() -> None:
    file = io.BytesIO()
    failed = LinkedDocument(Document("2", "too long"), problems=(Problem("2", "limit-record", "too long"),))
    empty = LinkedDocument(Document("3", "nothing\u2028here"))
    write([make_linked(), failed, empty], file, OutputContext(Path("a.fhir.ndjson")))
    lines = file.getvalue().split(b"\n")
    resources = [json.loads(line) for line in lines[:-1]]
    assert [each["subject"]["identifier"]["value"] for each in resources] == ["n1", "3"]
    assert lines[-1] == b""
    assert "extension" not in resources[1]


def test_ids_are_stable_and_distinct() -> None:
    first, again = fhir_document(make_linked())["id"], fhir_document(make_linked("No fevers"))["id"]
    other = LinkedDocument(Document("n1", "fever", source="b.txt", ordinal=2))
    assert first == again != fhir_document(other)["id"]


def test_without_text_no_text_is_written() -> None:
    file = io.BytesIO()
    write([make_linked("No SECRET", 3)], file, OutputContext(Path("a.fhir.ndjson"), text=False))
    assert b"SECRET" not in file.getvalue()
