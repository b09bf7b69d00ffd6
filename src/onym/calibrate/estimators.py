"""Calibration metrics and probability estimators.

Metrics: expected calibration error, area under the ROC curve, risk-coverage curve, and drift by the population stability index:
the sum of (seen - expected) * ln(seen / expected) over ten equal-size bins. By convention, 0.1 is a small shift, and above 0.25
the calibration is no longer valid.

Estimators: isotonic regression fits the best non-decreasing function of the score (pool adjacent violators). Venn-Abers
calibration (Vovk and Petej 2014) adds each score to the training data once as wrong and once as right, fits isotonic regression
to both, and combines the two probabilities, so that a few right answers never give probability 1. Logistic regression is
fitted by Newton's method.
"""

from __future__ import annotations

from collections.abc import Sequence
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
"""The number of bins of the expected calibration error."""
MAX_INDEX = 0.25
"""The population stability index above which a calibration is no longer valid."""
_DRIFT_BINS = 10
_EMPTY_BIN = 1e-3  # share used instead of 0 for an empty bin, because the index takes logarithms


def require(is_sound: object, what: str, fix: str = "fit the calibration again") -> None:
    """Raise InputError with the message `what` unless the condition is true.

    >>> require(False, "a calibration has no knots")
    Traceback (most recent call last):
    onym.errors.InputError: [calibration-invalid] a calibration has no knots...
    """
    if not is_sound:
        raise InputError("calibration-invalid", what, fix=fix)


def expected_calibration_error(probabilities: Floats, outcomes: Outcomes, bins: int = BINS) -> float:
    """Return the mean absolute difference between probability and accuracy, over equal-size bins.

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
    """Return the area under the ROC curve; NaN if all answers are right or all wrong.

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
    """For each distinct score, highest first, return the share of answers with at least this score, and their error rate.

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
    """A histogram of confidences, to measure drift: inner bin edges, and the share of answers in each bin.

    >>> fitted = Spread.fit(np.linspace(0, 1, 1000))
    >>> round(fitted.index(np.linspace(0, 1, 500)), 2), fitted.index(np.full(500, 0.05)) > MAX_INDEX
    (0.0, True)
    """

    edges: tuple[float, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        is_sound = len(self.shares) == len(self.edges) + 1 and all(0 <= share <= 1 for share in self.shares)
        require(is_sound and list(self.edges) == sorted(self.edges), "the bin edges of a calibration are not sorted")

    @classmethod
    def fit(cls, confidences: Floats) -> Spread:
        """Choose bins with about the same number of answers each."""
        edges = np.unique(np.quantile(confidences, np.linspace(0, 1, _DRIFT_BINS + 1)[1:-1]))
        return cls(tuple(edges.tolist()), tuple(_shares(confidences, edges).tolist()))

    def index(self, confidences: Floats) -> float:
        """Return the population stability index of new confidences."""
        expected = np.maximum(self.shares, _EMPTY_BIN)
        seen = np.maximum(_shares(confidences, np.array(self.edges)), _EMPTY_BIN)
        return float(((seen - expected) * np.log(seen / expected)).sum())


def _shares(confidences: Floats, edges: Floats) -> Floats:
    counts = np.bincount(np.searchsorted(edges, confidences, side="right"), minlength=len(edges) + 1)
    return np.asarray(counts / max(1, counts.sum()), dtype=np.float64)


_KNOTS = 100  # maximum number of knots of a Venn-Abers function
_BINS = 500  # maximum number of equal-size score bins for Venn-Abers
_RIDGE = 1.0  # L2 penalty; keeps weights finite if a column separates right from wrong perfectly
_STEPS = 25  # maximum Newton steps
_MAX_LOG_ODDS = 30.0


@dataclass(frozen=True, config=CHECKED)
class Isotonic:
    """A non-decreasing, piecewise linear function from scores to probabilities, stored as knots.

    >>> fitted = Isotonic.fit(np.array([0.1, 0.2, 0.8, 0.9]), np.array([0, 0, 1, 1]))
    >>> fitted.probabilities(np.array([0.0, 0.5, 1.0])).round(6).tolist()
    [0.0, 0.5, 1.0]
    """

    scores: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        scores, values = np.array(self.scores), np.array(self.values)
        is_sound = len(scores) == len(values) > 0 and bool(((values >= 0) & (values <= 1)).all())
        is_ascending = is_sound and not (np.diff(scores) < 0).any() and not (np.diff(values) < 0).any()
        require(is_ascending, "the knots of a calibration are not sorted")

    @classmethod
    def fit(cls, scores: Floats, outcomes: npt.NDArray[np.generic] | Sequence[bool]) -> Isotonic:
        """Fit isotonic regression of outcomes on scores."""
        scores, right = check_outcomes(scores, outcomes)
        unique, groups, counts = np.unique(scores, return_inverse=True, return_counts=True)
        ends, values = pool_violators(np.bincount(groups, right) / counts, counts.astype(np.float64))
        starts = np.concatenate(([0], ends[:-1] + 1))
        knots = np.stack([unique[starts], unique[ends]], axis=1).reshape(-1)
        return cls(tuple(knots.tolist()), tuple(np.repeat(values, 2).tolist()))

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of each score; scores outside the fitted range get the probability of the nearest knot."""
        return np.interp(scores, self.scores, self.values)


def check_outcomes(scores: Floats, outcomes: npt.NDArray[np.generic] | Sequence[bool]) -> tuple[Floats, Floats]:
    """Convert scores and outcomes to float arrays; raise InputError if empty, of unequal length, or not finite."""
    scores, right = np.asarray(scores, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
    is_sound = len(scores) > 0 and len(scores) == len(right) and np.isfinite(scores).all()
    what = "scores are empty, not finite, or differ in number from the outcomes"
    require(is_sound, what, "pass finite scores with one outcome each")
    return scores, right


def pool_violators(means: Floats, weights: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """Run the pool-adjacent-violators algorithm; return the last row and the mean of each pool."""
    pools: list[tuple[int, float, float]] = []  # (last row, mean, weight) of each pool
    for row, (mean, weight) in enumerate(zip(means.tolist(), weights.tolist(), strict=True)):
        pool = (row, mean, weight)
        while pools and pools[-1][1] >= pool[1]:
            _, before, heavy = pools.pop()
            total = heavy + pool[2]
            pool = (row, (before * heavy + pool[1] * pool[2]) / total, total)
        pools.append(pool)
    return np.array([end for end, _, _ in pools]), np.array([min(1.0, max(0.0, mean)) for _, mean, _ in pools])


def fit_venn_abers(scores: Floats, outcomes: npt.NDArray[np.generic] | Sequence[bool]) -> Isotonic:
    """Fit Venn-Abers calibration; return the function from scores to probabilities.

    >>> fitted = fit_venn_abers(np.array([0.1, 0.2, 0.8, 0.9]), np.array([0, 0, 1, 1]))
    >>> fitted.probabilities(np.array([0.1, 0.9])).round(2).tolist()
    [0.25, 0.75]
    """
    scores, right = check_outcomes(scores, outcomes)
    centres, means, weights = _bin_scores(scores, right)
    rows = np.unique(np.linspace(0, len(centres) - 1, _KNOTS).round().astype(np.int64))
    wrong, correct = (np.array([_with_one(means, weights, row, outcome) for row in rows]) for outcome in (0.0, 1.0))
    values = np.maximum.accumulate(correct / (1 - wrong + correct))
    return Isotonic(tuple(centres[rows].tolist()), tuple(np.minimum(values, 1.0).tolist()))


def _bin_scores(scores: Floats, right: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean score, accuracy and number of answers of each bin; equal scores share a bin."""
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, _BINS + 1)))
    bins = np.unique(np.searchsorted(edges, scores), return_inverse=True)[1]
    counts = np.bincount(bins).astype(np.float64)
    return np.bincount(bins, scores) / counts, np.bincount(bins, right) / counts, counts


def _with_one(means: Floats, weights: Floats, row: int, outcome: float) -> float:
    """Return the isotonic probability of bin `row` after one answer with this outcome is added to the bin."""
    means, weights = means.copy(), weights.copy()
    means[row] = (means[row] * weights[row] + outcome) / (weights[row] + 1)
    weights[row] += 1
    ends, values = pool_violators(means, weights)
    return float(values[np.searchsorted(ends, row)])


@dataclass(frozen=True, config=CHECKED)
class Logistic:
    """Logistic regression on standardised columns; `spreads` are the standard deviations of the columns.

    >>> columns = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> fitted = Logistic.fit(columns, np.array([0.0, 0.0, 1.0, 1.0]))
    >>> (fitted.log_odds(columns) > 0).tolist()
    [False, False, True, True]
    """

    weights: tuple[float, ...]
    means: tuple[float, ...]
    spreads: tuple[float, ...]
    bias: float

    def __post_init__(self) -> None:
        is_sound = len(self.weights) == len(self.means) == len(self.spreads) and all(spread > 0 for spread in self.spreads)
        require(is_sound, "the columns of a logistic regression do not match")

    @classmethod
    def fit(cls, columns: Floats, right: Floats) -> Logistic:
        """Fit the weights by Newton's method, with an L2 penalty."""
        means, spreads = columns.mean(axis=0), columns.std(axis=0)
        spreads = np.where(spreads > 1e-9, spreads, 1.0)
        scaled = np.concatenate([(columns - means) / spreads, np.ones((len(columns), 1))], axis=1)
        ridge = np.diag([_RIDGE] * columns.shape[1] + [1e-6])
        found = np.zeros(scaled.shape[1])
        for _ in range(_STEPS):
            probability = 1 / (1 + np.exp(-np.clip(scaled @ found, -_MAX_LOG_ODDS, _MAX_LOG_ODDS)))
            gradient = scaled.T @ (probability - right) + ridge @ found
            curvature = (scaled * (probability * (1 - probability))[:, None]).T @ scaled + ridge
            step = np.linalg.solve(curvature, gradient)
            found -= step
            if np.abs(step).max() < 1e-9:
                break
        return cls(tuple(found[:-1].tolist()), tuple(means.tolist()), tuple(spreads.tolist()), float(found[-1]))

    def log_odds(self, columns: Floats) -> Floats:
        """Return the log-odds of each row."""
        scaled: Floats = (columns - np.array(self.means)) / np.array(self.spreads)
        return np.asarray(scaled @ np.array(self.weights) + self.bias, dtype=np.float64)
