"""Venn-Abers calibration (Vovk and Petej 2014): isotonic regression that knows how little it has seen.

A score is added to those that were judged, once as wrong and once as right, and isotonic regression is fitted to each; its two
probabilities are made one. So no answer is called certain because ten like it were right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from onym.calibrate.isotonic import Isotonic, judged, pooled
from onym.calibrate.values import Floats

_KNOTS = 100
_BINS = 500  # scores are put into so many, of equally many answers


def fit_venn_abers(scores: Floats, outcomes: npt.NDArray[np.generic] | Sequence[bool]) -> Isotonic:
    """Return the function from scores to probabilities, by its knots.

    >>> fitted = fit_venn_abers(np.array([0.1, 0.2, 0.8, 0.9]), np.array([0, 0, 1, 1]))
    >>> fitted.probabilities(np.array([0.1, 0.9])).round(2).tolist()
    [0.25, 0.75]
    """
    scores, right = judged(scores, outcomes)
    centres, means, weights = _binned(scores, right)
    rows = np.unique(np.linspace(0, len(centres) - 1, _KNOTS).round().astype(np.int64))
    wrong, correct = (np.array([_with_one(means, weights, row, outcome) for row in rows]) for outcome in (0.0, 1.0))
    values = np.maximum.accumulate(correct / (1 - wrong + correct))
    return Isotonic(tuple(centres[rows].tolist()), tuple(np.minimum(values, 1.0).tolist()))


def _binned(scores: Floats, right: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean score, the share of right answers and the number of answers of each bin; equal scores share one."""
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, _BINS + 1)))
    bins = np.unique(np.searchsorted(edges, scores), return_inverse=True)[1]
    counts = np.bincount(bins).astype(np.float64)
    return np.bincount(bins, scores) / counts, np.bincount(bins, right) / counts, counts


def _with_one(means: Floats, weights: Floats, row: int, outcome: float) -> float:
    """Return the probability of a bin after one more answer in it."""
    means, weights = means.copy(), weights.copy()
    means[row] = (means[row] * weights[row] + outcome) / (weights[row] + 1)
    weights[row] += 1
    ends, values = pooled(means, weights)
    return float(values[np.searchsorted(ends, row)])
