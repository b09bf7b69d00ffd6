"""How good probabilities are: calibration error, area under the ROC curve, and the curve of risk over coverage."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Outcomes = npt.NDArray[np.generic]
BINS = 15


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
