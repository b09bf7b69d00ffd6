"""Drift: whether the confidences of a run are spread as those were that a calibration was fitted to.

The measure is the population stability index: over ten bins of equally many answers, the sum of (seen - expected) * ln(seen /
expected). By common use 0.1 is a small shift, and above 0.25 what was fitted no longer holds.
"""

from __future__ import annotations

import numpy as np
from pydantic.dataclasses import dataclass

from onym.calibrate.values import CHECKED, Floats, require

MAX_INDEX = 0.25
_BINS = 10
_LEAST = 1e-3  # the share of an empty bin


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
        edges = np.unique(np.quantile(confidences, np.linspace(0, 1, _BINS + 1)[1:-1]))
        return cls(tuple(edges.tolist()), tuple(_shares(confidences, edges).tolist()))

    def index(self, confidences: Floats) -> float:
        """Return the population stability index of other confidences."""
        expected = np.maximum(self.shares, _LEAST)
        seen = np.maximum(_shares(confidences, np.array(self.edges)), _LEAST)
        return float(((seen - expected) * np.log(seen / expected)).sum())


def _shares(confidences: Floats, edges: Floats) -> Floats:
    counts = np.bincount(np.searchsorted(edges, confidences, side="right"), minlength=len(edges) + 1)
    return np.asarray(counts / max(1, counts.sum()), dtype=np.float64)
