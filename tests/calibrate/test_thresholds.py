"""Tests of choosing the lowest threshold that reaches a target precision."""

from __future__ import annotations

import numpy as np
import pytest

from onym.calibrate.thresholds import PrecisionCurve
from onym.errors import InputError

SCORES = np.repeat([0.9, 0.8, 0.7, 0.6, 0.5], 1_000)
CURVE = PrecisionCurve.fit(SCORES, np.repeat([1, 1, 0, 1, 0], 1_000))


def test_lowest_threshold_with_the_precision() -> None:
    assert CURVE.at(0.75) == (0.6, 0.75, 0.8, True)
    assert CURVE.at(0.5).coverage == 1.0
    assert CURVE.at(0.9) == (0.8, 1 - 3 / 2_000, 0.4, True)


def test_unreachable_precision_is_reported() -> None:
    found = PrecisionCurve.fit(SCORES, np.repeat([0, 1, 1, 1, 0], 1_000)).at(0.9)
    assert (found.is_reached, found.threshold, found.precision) == (False, 0.6, 0.75)


def test_few_answers_cap_the_precision() -> None:
    few = PrecisionCurve.fit(np.linspace(0, 1, 30), np.ones(30))
    assert few.at(0.9).is_reached
    assert not few.at(0.95).is_reached
    assert not CURVE.at(1.0).is_reached


@pytest.mark.parametrize("precision", [0.0, 1.1, -1.0])
def test_rejects_precision_out_of_range(precision: float) -> None:
    with pytest.raises(InputError, match="calibration-invalid"):
        CURVE.at(precision)


def test_long_curve_is_downsampled() -> None:
    generator = np.random.default_rng(0)
    scores = generator.random(20_000)
    right = generator.random(20_000) < scores
    curve = PrecisionCurve.fit(scores, right)
    assert len(curve.thresholds) <= 401
    reached = curve.at(0.9)
    assert abs(right[scores >= reached.threshold].mean() - 0.9) < 0.005
    assert curve.coverages[-1] == 1.0


@pytest.mark.parametrize(
    ("thresholds", "precisions", "coverages"),
    [((), (), ()), ((0.5,), (0.5, 0.5), (1.0,)), ((0.5, 0.6), (0.5, 0.5), (0.5, 1.0)), ((0.5,), (2.0,), (1.0,))],
)
def test_stored_curve_is_validated(
    thresholds: tuple[float, ...], precisions: tuple[float, ...], coverages: tuple[float, ...]
) -> None:
    with pytest.raises(InputError, match="calibration-invalid"):
        PrecisionCurve(thresholds, precisions, coverages)


def test_rejects_empty_input() -> None:
    with pytest.raises(InputError, match="calibration-invalid"):
        PrecisionCurve.fit(np.array([]), np.array([]))
