"""Scores from 0 to 100."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from onym.serve.reconcile.scores import shown_scores
from onym.types import Candidate


def candidates(*scores: float) -> list[Candidate]:
    return [Candidate(f"made:{row}", "name", score) for row, score in enumerate(scores)]


def test_the_confidence_is_the_first_score_and_the_rest_is_shared() -> None:
    assert shown_scores(candidates(0.9, 0.5, 0.4), 0.6) == [60.0, 20.0, 10.0]
    assert shown_scores(candidates(0.9, 0.5), 0.1) == [10.0, 5.0]
    assert shown_scores(candidates(1.0, 1.0, 0.4), 0.5) == [50.0, 50.0, 12.5]
    assert shown_scores(candidates(0.9), 0.94999999) == [94.99]  # never more than the confidence says
    assert shown_scores([], None) == []


def test_without_a_confidence_it_is_the_score_of_the_linker() -> None:
    assert shown_scores(candidates(7.0, 0.5, -0.1, -1e9), None) == [100.0, 50.0, 50.0, 0.0]
    assert shown_scores(candidates(math.log(0.25), math.nan), None) == [25.0, 0.0]


@given(st.lists(st.floats(-50, 5), max_size=9), st.none() | st.floats(0, 1))
def test_scores_fall_and_are_percents(scores: list[float], confidence: float | None) -> None:
    shown = shown_scores(candidates(*sorted(scores, reverse=True)), confidence)
    assert shown == sorted(shown, reverse=True)
    assert all(0 <= each <= 100 for each in shown)
