"""Tests of Label Studio's tasks: the documented pre-annotations, and annotations that people made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onym.corpora.formats import detect, label_studio
from onym.types import Document, Mention, Problem
from tests.support.documents import source_of, write_to_memory

TEXT = "All that changed when he was 27 and he came to Jerusalem."


def region(start: Any, end: Any, text: str, label: str, name: str) -> dict[str, Any]:
    """Return a region as in Label Studio's guide to pre-annotations."""
    value = {"start": start, "end": end, "score": 0.7, "text": text, "labels": [label]}
    return {"id": name, "from_name": "label", "to_name": "text", "type": "labels", "value": value}


def concept(name: str, *ids: str) -> dict[str, Any]:
    value = {"start": 29, "end": 31, "text": list(ids)}
    return {"id": name, "from_name": "concept", "to_name": "text", "type": "textarea", "value": value}


DATE, PLACE = region(29, 31, "27", "Date", "abc"), region(47, 56, "Jerusalem", "Location", "def")
PREDICTED = {"data": {"text": TEXT}, "predictions": [{"model_version": "one", "score": 0.5, "result": [DATE, PLACE]}]}


def read(*tasks: dict[str, Any]) -> list[Document | Problem]:
    return list(label_studio.read(source_of(a__json=json.dumps(tasks))))


def mentions(*tasks: dict[str, Any]) -> tuple[Mention, ...]:
    (doc,) = read(*tasks)
    assert isinstance(doc, Document)
    return doc.mentions


def test_reads_the_documented_predictions() -> None:
    assert detect(source_of(a__json=json.dumps([PREDICTED]))) == "label_studio"
    first, second = mentions(PREDICTED)
    assert (first.start, first.surface, first.type, first.id) == (29, "27", "Date", "abc")
    assert (second.surface, second.type) == ("Jerusalem", "Location")


def test_annotations_of_people_come_first() -> None:
    made = [
        {"id": 1, "ground_truth": True, "result": [DATE, concept("abc", "MESH:D001", "MESH:D002")]},
        {"id": 2, "result": [PLACE]},
        {"id": 3, "was_cancelled": True, "result": []},
    ]
    (chosen,) = mentions({"id": 5, **PREDICTED, "annotations": made})
    assert (chosen.surface, chosen.concept_ids) == ("27", ("mesh:D001", "mesh:D002"))
    (last,) = mentions({"id": 5, **PREDICTED, "annotations": made[1:]})
    assert last.surface == "Jerusalem"
    assert mentions({**PREDICTED, "annotations": [{"result": []}]}) == ()


def test_ids_of_documents() -> None:
    tasks: list[dict[str, Any]]
    tasks = [{"id": 5, "data": {"text": "x", "document_id": "PMC1"}}, {"id": 6, "data": {"text": "x"}}, {"data": {"text": "x"}}]
    assert [item.id for item in read(*tasks) if isinstance(item, Document)] == ["PMC1", "6", "a"]


def test_offsets_are_code_points_and_may_be_strings() -> None:
    task = {"data": {"text": "💩 fever"}, "predictions": [{"result": [region("2", "7", "fever", "Disease", "r")]}]}
    assert mentions(task)[0].surface == "fever"


def test_a_text_that_does_not_fit_is_a_problem() -> None:
    task = {"data": {"text": "💩 fever"}, "predictions": [{"result": [region(3, 8, "fever", "Disease", "r")]}]}
    problem, doc = read(task)
    assert isinstance(problem, Problem)
    assert problem.code == "corpus-offsets"
    assert isinstance(doc, Document)


@pytest.mark.parametrize(
    "change",
    [
        {"data": 1},
        {"data": {"image": "x"}},
        {"predictions": 1},
        {"predictions": [{"result": [{"type": "labels"}]}]},
        {"predictions": [{"result": [region(None, 1, "A", "x", "r")]}]},
    ],
)
def test_malformed_tasks_become_problems(change: dict[str, Any]) -> None:
    (problem,) = read({**PREDICTED, **change})
    assert isinstance(problem, Problem)
    assert problem.code == "corpus-malformed"


def test_written_tasks_are_predictions() -> None:
    doc = Document("1", TEXT, (Mention(29, 31, "27", ("mesh:D001",), "Date"), Mention(47, 56, "Jerusalem")))
    written = write_to_memory(label_studio, [doc])[""]
    (task,) = json.loads(written)
    regions = task["predictions"][0]["result"]
    assert [each["type"] for each in regions] == ["labels", "textarea", "labels"]
    assert regions[0]["id"] == regions[1]["id"]
    assert regions[1]["value"]["text"] == ["MESH:D001"]
    assert regions[2]["value"]["labels"] == ["Mention"]
    assert list(label_studio.read(source_of(b__json=written))) == [doc]
