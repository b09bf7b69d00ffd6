"""Calibration: fit probabilities, thresholds and conformal sets to scores and outcomes.

Works on arrays only: it reads no files, and does not depend on knowledge bases or documents.
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
