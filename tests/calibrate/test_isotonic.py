"""Tests that isotonic regression agrees with scikit-learn, and that invalid knots and scores are rejected."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from onym.calibrate.estimators import Isotonic
from onym.errors import InputError


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=60))
def test_matches_scikit_learn(pairs: list[tuple[int, bool]]) -> None:
    scores, right = np.array([score / 20 for score, _ in pairs]), np.array([each for _, each in pairs])
    fitted = Isotonic.fit(scores, right)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores, right)
    queries = np.linspace(-0.5, 1.5, 41)
    assert np.abs(fitted.probabilities(queries) - theirs.predict(queries)).max() < 1e-9


@pytest.mark.parametrize(
    ("scores", "values"), [((), ()), ((0.0, 1.0), (0.5,)), ((1.0, 0.0), (0.0, 1.0)), ((0.0, 1.0), (0.9, 0.1)), ((0.0,), (2.0,))]
)
def test_rejects_unsorted_knots(scores: tuple[float, ...], values: tuple[float, ...]) -> None:
    with pytest.raises(InputError) as error:
        Isotonic(scores, values)
    assert error.value.code == "calibration-invalid"


def test_rejects_empty_and_nan_scores() -> None:
    for scores, right in (([], []), ([0.5], []), ([np.nan], [True])):
        with pytest.raises(InputError):
            Isotonic.fit(np.array(scores), np.array(right))
