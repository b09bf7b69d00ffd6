"""Tests that logistic regression agrees with scikit-learn, and that invalid stored weights are rejected."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from onym.calibrate.estimators import Logistic
from onym.errors import InputError


def test_matches_scikit_learn() -> None:
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(500, 3)) * [1.0, 5.0, 0.0] + [0.0, 3.0, 1.0]
    right = (generator.random(500) < 1 / (1 + np.exp(-columns[:, 0]))).astype(float)
    scaled = (columns - columns.mean(axis=0)) / np.where(columns.std(axis=0) > 0, columns.std(axis=0), 1.0)
    theirs = LogisticRegression(C=1.0, tol=1e-10, solver="newton-cholesky").fit(scaled, right)
    assert np.abs(Logistic.fit(columns, right).log_odds(columns) - theirs.decision_function(scaled)).max() < 1e-4


def test_separable_data_gives_finite_weights() -> None:
    fitted = Logistic.fit(np.array([[0.0], [1.0]] * 50), np.array([0.0, 1.0] * 50))
    assert np.isfinite(fitted.weights).all()
    assert fitted.log_odds(np.array([[1.0]]))[0] > 2


@pytest.mark.parametrize("spreads", [(1.0, 1.0), (0.0,)])
def test_stored_weights_are_validated(spreads: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="calibration-invalid"):
        Logistic((1.0,), (0.0,), spreads, 0.0)
