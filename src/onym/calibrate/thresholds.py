"""Thresholds and conformal sets: from a wanted precision or coverage to the answers that reach it.

`PrecisionCurve` says how confident an answer has to be for a wanted precision. `ConformalSets` gives the fewest candidates that
contain the right one with a wanted probability, by type of mention: the best candidate is as probable as its confidence says;
the rest of the probability is shared by the others, each by how often the right one had its rank. The share of a candidate is
compared with those of right ones in documents that were judged (split conformal prediction). A mention whose right concept is
not among its candidates cannot be covered: their share is a ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic.dataclasses import dataclass

from onym.calibrate.estimators import CHECKED, Floats, require, risk_coverage

_POINTS = 400
_RULE_OF_THREE = 3.0  # if none of n answers is wrong, the true share of wrong ones is below 3/n (with 95 % confidence)
COVERAGES = tuple(round(0.5 + step / 100, 2) for step in range(50))
"""The coverages that can be asked for: 0.50, 0.51 and so on to 0.99."""
_MIN_MENTIONS = 50  # of a type; with fewer, the thresholds of all types together count
_RANKS = 50


class Reachable(NamedTuple):
    """What a threshold gives on the answers that it was chosen by. `is_reached` says whether that is what was asked for."""

    threshold: float
    precision: float
    coverage: float
    is_reached: bool


@dataclass(frozen=True, config=CHECKED)
class PrecisionCurve:
    """Precision and coverage of the answers at and above each threshold, the highest threshold first.

    A precision is never higher than so many answers can show: that of a hundred right ones is 0.97, not 1.
    """

    thresholds: tuple[float, ...]
    precisions: tuple[float, ...]
    coverages: tuple[float, ...]

    def __post_init__(self) -> None:
        is_even = len(self.thresholds) == len(self.precisions) == len(self.coverages) > 0
        is_sound = is_even and all(0 <= share <= 1 for share in (*self.precisions, *self.coverages))
        require(is_sound and list(self.thresholds) == sorted(self.thresholds)[::-1], "a curve of precisions does not descend")

    @classmethod
    def fit(cls, scores: Floats, outcomes: npt.NDArray[np.generic]) -> PrecisionCurve:
        """Return the curve of answers that were judged; of many thresholds some hundred, at even steps of coverage."""
        require(len(scores), "there are no answers that were judged", "give some")
        coverage, risk = risk_coverage(scores, outcomes)
        values = np.unique(np.asarray(scores, dtype=np.float64))[::-1]
        wanted = np.searchsorted(coverage, np.linspace(0, 1, _POINTS))
        kept = np.unique(np.append(np.minimum(wanted, len(values) - 1), len(values) - 1))
        shown = 1 - _RULE_OF_THREE / (coverage[kept] * len(scores))
        shares = (np.minimum(1 - risk[kept], shown), coverage[kept])
        return cls(tuple(values[kept].tolist()), *(tuple(np.clip(each, 0, 1).tolist()) for each in shares))

    def best_f1(self, answers: int, gold: int) -> Reachable:
        """Return the threshold with the highest F1 of so many answers, where so many mentions should have one.

        >>> curve = PrecisionCurve.fit(np.repeat([0.9, 0.8, 0.3], 100), np.repeat([1, 1, 0], 100))
        >>> curve.best_f1(300, gold=250).threshold
        0.8
        """
        answered = np.array(self.coverages) * answers
        row = int(np.argmax(np.array(self.precisions) * answered / (answered + gold)))
        return Reachable(self.thresholds[row], self.precisions[row], self.coverages[row], is_reached=True)

    def at(self, precision: float) -> Reachable:
        """Return the lowest threshold at and above which answers are right that often; the most precise one where none is.

        >>> curve = PrecisionCurve.fit(np.repeat([0.9, 0.8, 0.3], 100), np.repeat([1, 1, 0], 100))
        >>> curve.at(0.9)
        Reachable(threshold=0.8, precision=0.985, coverage=0.6666666666666666, is_reached=True)
        >>> curve.at(0.99).is_reached
        False
        """
        require(0 < precision <= 1, "a precision lies above 0 and up to 1", "ask for one such as 0.95")
        enough = [row for row, each in enumerate(self.precisions) if each >= precision]
        row = enough[-1] if enough else int(np.argmax(self.precisions))
        return Reachable(self.thresholds[row], self.precisions[row], self.coverages[row], bool(enough))


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
        right = np.array(
            [made._candidate_probability(p, rank) if rank else np.nan for p, rank in zip(confidences, ranks, strict=True)]
        )
        named = np.array(types, dtype=object)
        groups = {name: right[named == name] for name in dict.fromkeys(types)}
        groups = {name: values for name, values in groups.items() if len(values) >= _MIN_MENTIONS} | {"": right}
        return cls(made.shares, {name: TypeSets.fit(values) for name, values in groups.items()})

    def size(self, coverage: float, *, confidence: float, candidates: int, of_type: str) -> int:
        """Return how many of a mention's candidates, best first, are in its set: at least one, if there are any."""
        threshold = self._of(of_type).thresholds[COVERAGES.index(coverage)]
        enough = (self._candidate_probability(confidence, rank) >= threshold for rank in range(2, candidates + 1))
        return min(candidates, 1) + sum(enough)

    def ceiling(self, of_type: str) -> float:
        """Return how often the right concept is among the candidates of a type."""
        return self._of(of_type).ceiling

    def _of(self, of_type: str) -> TypeSets:
        return self.by_type.get(of_type) or self.by_type[""]

    def _candidate_probability(self, confidence: float, rank: int) -> float:
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
