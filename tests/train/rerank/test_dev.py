"""Figures on dev."""

from __future__ import annotations

import numpy as np

from onym.rerank.features import NAMES
from onym.testing.tiny_trees import stump
from onym.train.rerank.collate import Pairs
from onym.train.rerank.dev import Outcomes, calibrated, figures_of, outcomes_of

COLUMN = ("tfidf",)
STUMP = stump()


def pairs() -> Pairs:
    """Return three mentions: one right, one wrong, and one without candidates."""
    matrix = np.zeros((3, len(NAMES)))
    matrix[:, 0] = (0.9, 0.1, 0.2)
    return Pairs(
        matrix=matrix,
        is_right=np.array([True, False, False]),
        owners=np.array([0, 0, 1]),
        concepts=np.array([5, 4, 3]),
        is_in_kb=np.array([True, True, True]),
        is_seen=np.array([True, False, False]),
        types=np.array(["A", "A", "B"], dtype=object),
    )


def test_the_best_candidate_is_the_answer() -> None:
    found = outcomes_of(STUMP, COLUMN, pairs())
    assert found.is_right.tolist() == [True, False, False]
    assert found.probabilities.round(3).tolist() == [0.731, 0.269, 0.0]
    figures = figures_of(pairs(), found)
    assert figures["strict_r1"] == 33.3
    assert (figures["seen"], figures["unseen"], figures["type A"], figures["type B"]) == (100.0, 0.0, 50.0, 0.0)
    assert (figures["mentions"], figures["in_kb"]) == (3, 3)


def test_what_is_not_in_the_knowledge_base_is_counted_apart() -> None:
    some = pairs()._replace(is_in_kb=np.array([True, False, False]))
    assert figures_of(some, outcomes_of(STUMP, COLUMN, some))["strict_r1"] == 100.0


def test_confidences_are_fitted_to_all_corpora() -> None:
    one = Outcomes(np.array([0.9, 0.8]), np.array([True, False]))
    other = Outcomes(np.array([0.1]), np.array([False]))
    fitted, quality = calibrated({"one": one, "other": other})
    assert fitted.probabilities(np.array([0.0, 0.9])).tolist() == [0.0, 1.0]
    assert quality == {"ece_on_dev": 0.0, "auroc_on_dev": 1.0}
