"""Conformal sets: the fewest candidates that hold the right one as often as is wished, by type of mention.

A candidate's probability is compared with those that right candidates had in documents that were judged (split conformal
prediction). A mention whose right concept is not among its candidates cannot be covered: their share is a ceiling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onym.errors import InputError

Floats = npt.NDArray[np.float64]
_MIN_MENTIONS = 50  # of a type; with fewer, the threshold of all types together counts


@dataclass(frozen=True)
class ConformalSets:
    """A threshold for each type of mention, and one for all others.

    `ceilings` are the shares of mentions whose right concept was among the candidates at all.

    >>> right = np.array([0.9] * 80 + [0.2] * 20)
    >>> sets = ConformalSets.fit(0.9, right, [""] * 100)
    >>> sets.thresholds[""], sets.size(np.array([0.7, 0.25, 0.1]), "")
    (0.2, 2)
    """

    coverage: float
    thresholds: Mapping[str, float]
    ceilings: Mapping[str, float]

    @classmethod
    def fit(cls, coverage: float, right: Floats, types: Sequence[str]) -> ConformalSets:
        """Fit to the probability of the right candidate of each mention, NaN where it was not among the candidates."""
        if not 0 < coverage < 1 or not len(right) or len(right) != len(types):
            what = "a coverage lies between 0 and 1, and needs mentions that were judged, each with a type"
            raise InputError("calibration-invalid", what, fix="ask for one such as 0.9")
        named = np.array(types, dtype=object)
        groups = {name: right[named == name] for name in dict.fromkeys(types)}
        groups = {name: values for name, values in groups.items() if len(values) >= _MIN_MENTIONS} | {"": right}
        return cls(
            coverage,
            {name: _threshold(values, coverage) for name, values in groups.items()},
            {name: float(np.mean(~np.isnan(values))) for name, values in groups.items()},
        )

    def is_reachable(self, name: str) -> bool:
        """Return whether the candidates of a type hold the right one that often."""
        return self.ceilings.get(name, self.ceilings[""]) >= self.coverage

    def size(self, probabilities: Floats, name: str) -> int:
        """Return how many of a mention's candidates, best first, are in its set."""
        return int((probabilities >= self.thresholds.get(name, self.thresholds[""])).sum())


def _threshold(right: Floats, coverage: float) -> float:
    """Return the probability that the right candidate reaches that often, corrected for few mentions; 0 where it never does."""
    known = np.where(np.isnan(right), -1.0, right)
    rank = int(np.floor((1 - coverage) * (len(known) + 1)))  # so many may lie below
    return max(0.0, float(np.sort(known)[rank - 1])) if rank else 0.0
