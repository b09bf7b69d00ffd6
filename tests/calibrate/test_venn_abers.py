"""Tests of Venn-Abers calibration, which combines two isotonic regressions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from onym.calibrate.estimators import Isotonic, fit_venn_abers


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=25))
def test_combines_two_isotonic_regressions(pairs: list[tuple[int, bool]]) -> None:
    scores, right = np.array([score / 20 for score, _ in pairs]), np.array([each for _, each in pairs], dtype=float)
    fitted = fit_venn_abers(scores, right)
    wrong, correct = (
        np.array([_with_one(scores, right, score, outcome) for score in np.unique(scores)]) for outcome in (0.0, 1.0)
    )
    by_definition = np.maximum.accumulate(correct / (1 - wrong + correct))
    assert np.abs(fitted.probabilities(np.unique(scores)) - by_definition).max() < 1e-9


def _with_one(scores: np.ndarray, right: np.ndarray, score: float, outcome: float) -> float:
    one = Isotonic.fit(np.append(scores, score), np.append(right, outcome))
    return float(one.probabilities(np.array([score]))[0])


def test_few_answers_give_no_certainty() -> None:
    few, many = (fit_venn_abers(np.linspace(0, 1, count), np.ones(count)) for count in (5, 2_000))
    assert few.probabilities(np.array([0.9]))[0] < 0.9
    assert many.probabilities(np.array([0.9]))[0] > 0.99
