"""Isotonic regression: the best probability that never falls where the score rises (pool adjacent violators)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pydantic.dataclasses import dataclass

from onym.calibrate.values import CHECKED, Floats, require


@dataclass(frozen=True, config=CHECKED)
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
        is_sound = len(scores) == len(values) > 0 and bool(((values >= 0) & (values <= 1)).all())
        is_ascending = is_sound and not (np.diff(scores) < 0).any() and not (np.diff(values) < 0).any()
        require(is_ascending, "the knots of a calibration do not ascend")

    @classmethod
    def fit(cls, scores: Floats, outcomes: npt.NDArray[np.generic] | Sequence[bool]) -> Isotonic:
        """Fit scores of answers to whether they were right."""
        scores, right = judged(scores, outcomes)
        unique, groups, counts = np.unique(scores, return_inverse=True, return_counts=True)
        ends, values = pooled(np.bincount(groups, right) / counts, counts.astype(np.float64))
        starts = np.concatenate(([0], ends[:-1] + 1))
        knots = np.stack([unique[starts], unique[ends]], axis=1).reshape(-1)
        return cls(tuple(knots.tolist()), tuple(np.repeat(values, 2).tolist()))

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of each score; outside of what was seen, that of the nearest one seen."""
        return np.interp(scores, self.scores, self.values)


def judged(scores: Floats, outcomes: npt.NDArray[np.generic] | Sequence[bool]) -> tuple[Floats, Floats]:
    """Return scores and outcomes as numbers; there must be some, and one outcome for each score."""
    scores, right = np.asarray(scores, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
    is_sound = len(scores) > 0 and len(scores) == len(right) and np.isfinite(scores).all()
    what = "there are no scores, or not one outcome for each of them"
    require(is_sound, what, "give the finite scores of answers that were judged")
    return scores, right


def pooled(means: Floats, weights: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
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
