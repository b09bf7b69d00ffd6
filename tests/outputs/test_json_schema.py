"""Tests that written files are valid under the published JSON Schemas."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator, ValidationError

from onym.corpora.plain import to_plain_linked
from onym.outputs.predictions import Prediction, lines_of, schema, write_predictions
from onym.types import AssertionMark, Candidate, Document, Link, LinkedDocument, Mention, Problem

FEVER = Mention(5, 10, "fever", type="Disease", notes=(("id", "x"),))
DOC = Document("1", "high fever", (FEVER,))
FULL = Link(
    FEVER,
    (Candidate("mesh:D005334", "fever", 1.0),),
    detection_score=0.9,
    stage="exact",
    confidence=0.75,
    nil_reason="below-threshold",
    assertion=("negated",),
    extra={"section": "plan"},
)
LINKED = [
    LinkedDocument(DOC, (FULL,)),
    LinkedDocument(DOC, (Link(FEVER, assertion=get_args(AssertionMark)),)),
    LinkedDocument(Document("3", "")),
    LinkedDocument(Document("2", ""), problems=(Problem("2", "limit-record", "too long", "a.txt"),)),
]


def validate(value: Any, name: Any) -> None:
    Draft202012Validator(schema(name)).validate(value)


@pytest.mark.parametrize("name", ["predictions-2", "linked-document-2"])
def test_schemas_are_valid(name: Any) -> None:
    Draft202012Validator.check_schema(schema(name))


def test_each_line_of_predictions_matches_the_schema() -> None:
    file = io.BytesIO()
    composite = Prediction("3", 0, 4, ((("mesh:D1", "mesh:D2"), 0.5, 0),))
    write_predictions([*lines_of(LINKED), composite], {"linker": {}}, file)
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    assert len(lines) == 6
    for line in lines:
        validate(line, "predictions-2")


def test_each_linked_document_matches_the_schema() -> None:
    for linked in LINKED:
        validate(json.loads(json.dumps(to_plain_linked(linked))), "linked-document-2")


@pytest.mark.parametrize(
    "line",
    [
        {"document": "1", "start": 0, "end": 5},
        {"document": "1", "start": 0, "end": 5, "answers": [["mesh:D1", 1.0]]},
        {"document": "1", "start": 0, "end": 5, "answers": [], "confidence": 2},
        {"document": "1", "start": 0, "end": 5, "answers": [], "surface": "fever"},
        {"document": "1", "start": 0, "end": 5, "answers": [], "assertion": ["denied"]},
        {"kind": "predictions", "format": 1, "source": {}},
    ],
)
def test_schema_rejects_invalid_predictions(line: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        validate(line, "predictions-2")


def test_the_schemas_are_part_of_the_package() -> None:
    import onym

    assert {path.name for path in (Path(onym.__file__).parent / "outputs" / "schemas").iterdir()} == {
        "predictions-2.schema.json",
        "linked-document-2.schema.json",
        "problems-1.schema.json",
    }
