"""Tests of calibration metrics: AUROC, expected calibration error, and the risk-coverage curve."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from onym.calibrate.estimators import area_under_roc, expected_calibration_error, risk_coverage


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=2, max_size=80))
def test_auroc_matches_scikit_learn(pairs: list[tuple[int, bool]]) -> None:
    scores, right = np.array([score / 9 for score, _ in pairs]), np.array([each for _, each in pairs])
    if right.all() or not right.any():
        assert math.isnan(area_under_roc(scores, right))
    else:
        assert abs(area_under_roc(scores, right) - roc_auc_score(right, scores)) < 1e-12


def test_calibration_error_uses_equal_size_bins() -> None:
    probabilities = np.concatenate((np.full(15, 0.2), np.full(15, 0.9)))
    right = np.concatenate((np.zeros(15), np.ones(15)))
    assert abs(expected_calibration_error(probabilities, right, bins=2) - 0.15) < 1e-12
    assert expected_calibration_error(np.array([]), np.array([])) == 0.0


def test_calibrated_probabilities_have_low_error() -> None:
    generator = np.random.default_rng(0)
    probabilities = generator.random(20_000)
    assert expected_calibration_error(probabilities, generator.random(20_000) < probabilities) < 0.02
    assert expected_calibration_error(probabilities, generator.random(20_000) < probabilities**3) > 0.1


def test_risk_coverage_groups_equal_scores() -> None:
    coverage, risk = risk_coverage(np.array([0.5, 0.9, 0.5, 0.1]), np.array([0, 1, 1, 0]))
    assert coverage.tolist() == [0.25, 0.75, 1.0]
    assert risk.tolist() == [0.0, 1 / 3, 0.5]
    assert [len(each) for each in risk_coverage(np.array([]), np.array([]))] == [0, 0]
