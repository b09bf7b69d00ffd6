"""Calibration: from scores and outcomes to probabilities, thresholds and sets. Pure functions over arrays.

May import: types, errors. Always true here: no file is read, and nothing is known of mentions, concepts or gold ids.
"""

from onym.calibrate.isotonic import Isotonic
from onym.calibrate.measures import area_under_roc, expected_calibration_error, risk_coverage
from onym.calibrate.sets import ConformalSets
from onym.calibrate.thresholds import Reachable, threshold_for

__all__ = [
    "ConformalSets",
    "Isotonic",
    "Reachable",
    "area_under_roc",
    "expected_calibration_error",
    "risk_coverage",
    "threshold_for",
]
