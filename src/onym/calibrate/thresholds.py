"""From a wanted precision to a threshold: how sure an answer has to be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onym.calibrate.measures import risk_coverage
from onym.errors import InputError

Floats = npt.NDArray[np.float64]


class Reachable(NamedTuple):
    """What a threshold gives on the answers that it was chosen by. `is_reached` says whether that is what was asked for."""

    threshold: float
    precision: float
    coverage: float
    is_reached: bool


def threshold_for(precision: float, scores: Floats, outcomes: npt.NDArray[np.generic]) -> Reachable:
    """Return the lowest score at and above which answers are right that often; the most precise one where none is.

    >>> threshold_for(0.9, np.array([0.9, 0.8, 0.3]), np.array([1, 1, 0]))
    Reachable(threshold=0.8, precision=1.0, coverage=0.6666666666666666, is_reached=True)
    >>> threshold_for(0.9, np.array([0.9, 0.8]), np.array([0, 1])).is_reached
    False
    """
    if not 0 < precision <= 1 or not len(scores):
        what = "a precision lies above 0 and up to 1, and is chosen by answers that were judged"
        raise InputError("calibration-invalid", what, fix="ask for one such as 0.95")
    coverage, risk = risk_coverage(scores, outcomes)
    values = np.unique(np.asarray(scores, dtype=np.float64))[::-1]
    enough = np.flatnonzero(1 - risk >= precision)
    at = int(enough[-1]) if len(enough) else int(np.argmin(risk))
    return Reachable(float(values[at]), float(1 - risk[at]), float(coverage[at]), bool(len(enough)))
