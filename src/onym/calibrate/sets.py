"""Conformal sets: the fewest candidates that hold the right one as often as is wished, by type of mention.

The best candidate is as probable as its confidence says; the rest of the probability is shared by the others, each by how often
the right one had its rank. What a candidate gets is compared with what right ones got in documents that were judged (split
conformal prediction). A mention whose right concept is not among its candidates cannot be covered: their share is a ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic.dataclasses import dataclass

from onym.calibrate.values import CHECKED, Floats, require

COVERAGES = tuple(round(0.5 + step / 100, 2) for step in range(50))
"""The coverages that can be asked for: 0.50, 0.51 and so on to 0.99."""
_MIN_MENTIONS = 50  # of a type; with fewer, the thresholds of all types together count
_RANKS = 50


@dataclass(frozen=True, config=CHECKED)
class TypeSets:
    """For mentions of a type: the threshold of each of `COVERAGES`, and how often the right concept is a candidate at all."""

    thresholds: tuple[float, ...]
    ceiling: float

    def __post_init__(self) -> None:
        require(len(self.thresholds) == len(COVERAGES) and 0 <= self.ceiling <= 1, "the sets of a calibration are incomplete")

    @classmethod
    def fit(cls, right: Floats) -> TypeSets:
        """Fit to what the right candidate of each mention got, NaN where it was not among the candidates."""
        known = np.sort(np.where(np.isnan(right), -1.0, right))
        ranks = [int(np.floor((1 - coverage) * (len(known) + 1))) for coverage in COVERAGES]  # so many may lie below
        thresholds = (max(0.0, float(known[rank - 1])) if rank else 0.0 for rank in ranks)
        return cls(tuple(thresholds), float(np.mean(~np.isnan(right))))


@dataclass(frozen=True, config=CHECKED)
class ConformalSets:
    """`shares` are those of the second candidate and on; `by_type` has the types seen often enough, and "" for all others.

    >>> sets = ConformalSets.fit(np.array([0.9] * 80 + [0.3] * 20), [1] * 80 + [2] * 20, [""] * 100)
    >>> sets.size(0.9, confidence=0.95, candidates=3, of_type=""), sets.size(0.9, confidence=0.3, candidates=3, of_type="")
    (1, 2)
    """

    shares: tuple[float, ...]
    by_type: dict[str, TypeSets]

    def __post_init__(self) -> None:
        require(
            "" in self.by_type and all(0 <= share <= 1 for share in self.shares), "the sets of a calibration are incomplete"
        )

    @classmethod
    def fit(cls, confidences: Floats, ranks: Sequence[int | None], types: Sequence[str]) -> ConformalSets:
        """Fit to the confidence of each mention's best candidate, and the rank of its right one."""
        require(len(confidences) == len(ranks) == len(types) > 0, "there are no mentions that were judged")
        later = np.array([rank - 2 for rank in ranks if rank and 1 < rank <= _RANKS], dtype=np.int64)
        counts = np.bincount(later, minlength=1) + 1.0  # one more of each, so that none is impossible
        made = cls(tuple((counts / counts.sum()).tolist()), {"": TypeSets.fit(np.array([np.nan]))})
        right = np.array([made._got(p, rank) if rank else np.nan for p, rank in zip(confidences, ranks, strict=True)])
        named = np.array(types, dtype=object)
        groups = {name: right[named == name] for name in dict.fromkeys(types)}
        groups = {name: values for name, values in groups.items() if len(values) >= _MIN_MENTIONS} | {"": right}
        return cls(made.shares, {name: TypeSets.fit(values) for name, values in groups.items()})

    def size(self, coverage: float, *, confidence: float, candidates: int, of_type: str) -> int:
        """Return how many of a mention's candidates, best first, are in its set: at least one, if there are any."""
        threshold = self._of(of_type).thresholds[COVERAGES.index(coverage)]
        enough = (self._got(confidence, rank) >= threshold for rank in range(2, candidates + 1))
        return min(candidates, 1) + sum(enough)

    def ceiling(self, of_type: str) -> float:
        """Return how often the right concept is among the candidates of a type."""
        return self._of(of_type).ceiling

    def _of(self, of_type: str) -> TypeSets:
        return self.by_type.get(of_type) or self.by_type[""]

    def _got(self, confidence: float, rank: int) -> float:
        """Return what the candidate of a rank gets."""
        if rank == 1:
            return float(confidence)
        return float(1 - confidence) * (self.shares[rank - 2] if rank - 2 < len(self.shares) else 0.0)


def require_coverage(coverage: float) -> float:
    """Return a coverage that can be asked for.

    >>> require_coverage(0.9)
    0.9
    """
    rounded = round(coverage, 2)
    require(
        rounded in COVERAGES and abs(rounded - coverage) < 1e-9,
        f"sets are known for coverages of {COVERAGES[0]} to {COVERAGES[-1]}, in hundredths",
        "ask for one such as 0.9",
    )
    return rounded
