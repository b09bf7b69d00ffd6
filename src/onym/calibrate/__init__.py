"""Calibration: from scores and outcomes to probabilities, thresholds and sets. Pure functions over arrays.

Always true here: no file is read, and nothing is known of concepts or gold ids.
"""

from onym.calibrate.calibration import Answers, Calibration, ScoredAnswer
from onym.calibrate.estimators import Isotonic, Spread, area_under_roc, expected_calibration_error, risk_coverage
from onym.calibrate.thresholds import ConformalSets, PrecisionCurve, Reachable, require_coverage

__all__ = [
    "Answers",
    "Calibration",
    "ConformalSets",
    "Isotonic",
    "PrecisionCurve",
    "Reachable",
    "ScoredAnswer",
    "Spread",
    "area_under_roc",
    "expected_calibration_error",
    "require_coverage",
    "risk_coverage",
]
