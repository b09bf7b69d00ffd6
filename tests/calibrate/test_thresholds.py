"""Thresholds for a precision."""

from __future__ import annotations

import numpy as np
import pytest

from onym.calibrate.thresholds import threshold_for
from onym.errors import InputError

SCORES = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
RIGHT = np.array([1, 1, 0, 1, 0])


def test_the_lowest_threshold_counts() -> None:
    assert threshold_for(0.75, SCORES, RIGHT) == (0.6, 0.75, 0.8, True)
    assert threshold_for(0.5, SCORES, RIGHT).coverage == 1.0
    assert threshold_for(1.0, SCORES, RIGHT) == (0.8, 1.0, 0.4, True)


def test_what_cannot_be_reached_is_said() -> None:
    found = threshold_for(0.9, SCORES, np.array([0, 1, 1, 1, 0]))
    assert (found.is_reached, found.threshold, found.precision) == (False, 0.6, 0.75)


@pytest.mark.parametrize("precision", [0.0, 1.1, -1.0])
def test_a_precision_is_a_share(precision: float) -> None:
    with pytest.raises(InputError) as error:
        threshold_for(precision, SCORES, RIGHT)
    assert error.value.code == "calibration-invalid"
