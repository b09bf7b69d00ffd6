"""Tests that drift of confidences is detected, and that stored histogram bins are validated."""

from __future__ import annotations

import numpy as np
import pytest

from onym.calibrate.estimators import MAX_INDEX, Spread
from onym.errors import InputError


def test_drift_is_detected() -> None:
    generator = np.random.default_rng(0)
    fitted = Spread.fit(generator.beta(8, 1, size=2_000))
    assert fitted.index(generator.beta(8, 1, size=500)) < MAX_INDEX / 2
    assert fitted.index(generator.beta(2, 1, size=500)) > MAX_INDEX


def test_equal_confidences_share_a_bin() -> None:
    fitted = Spread.fit(np.ones(100))
    assert fitted.index(np.ones(10)) < 0.01
    assert fitted.index(np.zeros(10)) > MAX_INDEX


@pytest.mark.parametrize(("edges", "shares"), [((0.5,), (1.0,)), ((0.6, 0.5), (0.3, 0.3, 0.4)), ((0.5,), (2.0, 0.0))])
def test_stored_bins_are_validated(edges: tuple[float, ...], shares: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="calibration-invalid"):
        Spread(edges, shares)
