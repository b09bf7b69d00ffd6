"""Tests that predictions are matched to the right document even if several documents have the same id."""

from __future__ import annotations

import pytest

from onym.errors import InputError
from onym.outputs.predictions import DocumentNames, Prediction, Predictions
from onym.types import Document

FEVER, COUGH = ((("mesh:D005334",), 1.0, 0),), ((("mesh:D003371",), 1.0, 0),)


def gold(*keys: tuple[str, str, int]) -> DocumentNames:
    return DocumentNames.of_documents(
        [Document(name, "fever", source=source, ordinal=ordinal) for name, source, ordinal in keys]
    )


def make_predictions(*keys: tuple[str, str, int]) -> Predictions:
    lines = [
        Prediction(name, 0, 5, answers, source=source, ordinal=ordinal)
        for (name, source, ordinal), answers in zip(keys, (FEVER, COUGH, FEVER), strict=False)
    ]
    return Predictions.of(lines, {})


def test_unique_ids_match_alone() -> None:
    names = gold(("1", "test.jsonl", 1), ("2", "test.jsonl", 2))
    assert make_predictions(("1", "", 0), ("2", "mine.txt", 9)).answers_to(names) == {("1", 0, 5): FEVER, ("2", 0, 5): COUGH}


def test_distinguishes_documents_with_the_same_id() -> None:
    keys = (("1", "test.jsonl", 1), ("1", "test.jsonl", 2), ("1#2", "test.jsonl", 3))
    predictions = make_predictions(*keys)
    assert len(predictions.mentions) == 3
    assert predictions.answers_to(gold(*keys)) == {(keys[0], 0, 5): FEVER, (keys[1], 0, 5): COUGH, ("1#2", 0, 5): FEVER}


@pytest.mark.parametrize(
    ("of_gold", "of_predictions"),
    [
        ([("1", "a", 1), ("1", "a", 2)], [("1", "", 0)]),
        ([("1", "a", 1), ("1", "a", 2)], [("1", "a", 3)]),
        ([("1", "a", 1), ("1", "a", 2)], [("1", "b", 1), ("1", "b", 2)]),
        ([("1", "a", 1)], [("1", "a", 1), ("1", "a", 2)]),
        ([("1", "a", 1)], [("1", "a", 1), ("1", "", 0)]),
    ],
)
def test_rejects_ambiguous_matches(of_gold: list[tuple[str, str, int]], of_predictions: list[tuple[str, str, int]]) -> None:
    with pytest.raises(InputError, match="predictions-ambiguous"):
        make_predictions(*of_predictions).answers_to(gold(*of_gold))


def test_other_documents_may_share_an_id() -> None:
    assert make_predictions(("9", "a", 1), ("9", "a", 2)).answers_to(gold(("1", "a", 1))) == {("9", 0, 5): COUGH}


def test_rejects_indistinguishable_gold_documents() -> None:
    with pytest.raises(InputError, match="documents-alike"):
        DocumentNames.of_documents([Document("1", "a"), Document("1", "b")])
    assert "1" in gold(("1", "a", 1))
    assert "2" not in gold(("1", "a", 1))
