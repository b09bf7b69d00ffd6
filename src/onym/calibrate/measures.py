"""Measures of probabilities: calibration error, area under the ROC curve, risk over coverage, and drift.

Drift is measured by the population stability index: over ten bins of equally many answers, the sum of (seen - expected) *
ln(seen / expected). By common use 0.1 is a small shift, and above 0.25 the calibration no longer holds.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from onym.errors import InputError

Floats: TypeAlias = npt.NDArray[np.float64]
CHECKED = ConfigDict(extra="forbid", allow_inf_nan=False)
Outcomes = npt.NDArray[np.generic]
BINS = 15
MAX_INDEX = 0.25
_DRIFT_BINS = 10
_EMPTY_BIN = 1e-3  # the share of an empty bin


def require(is_sound: object, what: str, fix: str = "fit it again") -> None:
    """Refuse values that make no sense.

    >>> require(False, "a calibration has no knots")
    Traceback (most recent call last):
    onym.errors.InputError: [calibration-invalid] a calibration has no knots...
    """
    if not is_sound:
        raise InputError("calibration-invalid", what, fix=fix)


def expected_calibration_error(probabilities: Floats, outcomes: Outcomes, bins: int = BINS) -> float:
    """Return the mean distance between probability and accuracy, over bins of equally many answers.

    >>> expected_calibration_error(np.array([0.5, 0.5, 0.5, 0.5]), np.array([1, 0, 1, 0]), bins=1)
    0.0
    """
    if not len(probabilities):
        return 0.0
    order = np.argsort(probabilities, kind="stable")
    right = np.asarray(outcomes, dtype=np.float64)[order]
    parts = np.array_split(np.arange(len(order)), min(bins, len(order)))
    gaps = [abs(float(right[part].mean() - probabilities[order][part].mean())) * len(part) for part in parts]
    return sum(gaps) / len(order)


def area_under_roc(scores: Floats, outcomes: Outcomes) -> float:
    """Return the probability that a right answer scores higher than a wrong one, ties by half; NaN where one kind is missing.

    >>> area_under_roc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 0, 1, 1]))
    0.875
    """
    right = np.asarray(outcomes, dtype=bool)
    positives, negatives = int(right.sum()), int((~right).sum())
    if not positives or not negatives:
        return float("nan")
    _, groups, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[groups]
    return float((ranks[right].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def risk_coverage(scores: Floats, outcomes: Outcomes) -> tuple[Floats, Floats]:
    """Return for each score, from the highest on, the share of answers at or above it, and the share of those that are wrong.

    >>> coverage, risk = risk_coverage(np.array([0.9, 0.8, 0.8]), np.array([1, 0, 1]))
    >>> coverage.round(2).tolist(), risk.round(2).tolist()
    ([0.33, 1.0], [0.0, 0.33])
    """
    order = np.argsort(-np.asarray(scores), kind="stable")
    ends = np.flatnonzero(np.append(np.diff(np.asarray(scores)[order]) != 0, True)[: len(order)])
    wrong = np.cumsum(1.0 - np.asarray(outcomes, dtype=np.float64)[order])
    return (ends + 1) / max(1, len(order)), wrong[ends] / (ends + 1)


@dataclass(frozen=True, config=CHECKED)
class Spread:
    """Where the bins of confidences end, and the share of answers in each.

    >>> fitted = Spread.fit(np.linspace(0, 1, 1000))
    >>> round(fitted.index(np.linspace(0, 1, 500)), 2), fitted.index(np.full(500, 0.05)) > MAX_INDEX
    (0.0, True)
    """

    edges: tuple[float, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        is_sound = len(self.shares) == len(self.edges) + 1 and all(0 <= share <= 1 for share in self.shares)
        require(is_sound and list(self.edges) == sorted(self.edges), "the bins of a calibration do not ascend")

    @classmethod
    def fit(cls, confidences: Floats) -> Spread:
        """Choose bins of about equally many answers."""
        edges = np.unique(np.quantile(confidences, np.linspace(0, 1, _DRIFT_BINS + 1)[1:-1]))
        return cls(tuple(edges.tolist()), tuple(_shares(confidences, edges).tolist()))

    def index(self, confidences: Floats) -> float:
        """Return the population stability index of other confidences."""
        expected = np.maximum(self.shares, _EMPTY_BIN)
        seen = np.maximum(_shares(confidences, np.array(self.edges)), _EMPTY_BIN)
        return float(((seen - expected) * np.log(seen / expected)).sum())


def _shares(confidences: Floats, edges: Floats) -> Floats:
    counts = np.bincount(np.searchsorted(edges, confidences, side="right"), minlength=len(edges) + 1)
    return np.asarray(counts / max(1, counts.sum()), dtype=np.float64)
