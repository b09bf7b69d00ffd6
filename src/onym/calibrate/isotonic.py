"""Isotonic regression: the best probability that never falls where the score rises (pool adjacent violators)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onym.errors import InputError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Isotonic:
    """A function from scores to probabilities by its knots; between two of them it is a straight line.

    >>> fitted = Isotonic.fit(np.array([0.1, 0.2, 0.8, 0.9]), np.array([0, 0, 1, 1]))
    >>> fitted.probabilities(np.array([0.0, 0.5, 1.0])).round(6).tolist()
    [0.0, 0.5, 1.0]
    """

    scores: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        scores, values = np.array(self.scores), np.array(self.values)
        is_sound = len(scores) == len(values) > 0 and np.isfinite(scores).all() and bool(((values >= 0) & (values <= 1)).all())
        if not is_sound or (np.diff(scores) < 0).any() or (np.diff(values) < 0).any():
            raise InputError("calibration-invalid", "the knots of a calibration do not ascend", fix="fit it again")

    @classmethod
    def fit(cls, scores: Floats, outcomes: npt.NDArray[np.generic] | Sequence[bool]) -> Isotonic:
        """Fit scores of answers to whether they were right."""
        scores, right = np.asarray(scores, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
        if not len(scores) or len(scores) != len(right) or not np.isfinite(scores).all():
            what = "there are no scores, or not one outcome for each of them"
            raise InputError("calibration-invalid", what, fix="give the finite scores of answers that were judged")
        unique, groups, counts = np.unique(scores, return_inverse=True, return_counts=True)
        means = np.bincount(groups, right) / counts
        ends, values = _pooled(means, counts.astype(np.float64))
        starts = np.concatenate(([0], ends[:-1] + 1))
        knots = np.stack([unique[starts], unique[ends]], axis=1).reshape(-1)
        return cls(tuple(knots.tolist()), tuple(np.repeat(values, 2).tolist()))

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of each score; outside of what was seen, that of the nearest one seen."""
        return np.interp(scores, self.scores, self.values)


def _pooled(means: Floats, weights: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return where each pool of adjacent violators ends, and its mean."""
    pools: list[tuple[int, float, float]] = []  # end, mean, weight
    for row, (mean, weight) in enumerate(zip(means.tolist(), weights.tolist(), strict=True)):
        pool = (row, mean, weight)
        while pools and pools[-1][1] >= pool[1]:
            _, before, heavy = pools.pop()
            total = heavy + pool[2]
            pool = (row, (before * heavy + pool[1] * pool[2]) / total, total)
        pools.append(pool)
    return np.array([end for end, _, _ in pools]), np.array([min(1.0, max(0.0, mean)) for _, mean, _ in pools])
