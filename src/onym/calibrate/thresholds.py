"""Confidence thresholds for a target precision, and conformal candidate sets for a target coverage.

`PrecisionCurve` gives the confidence threshold for a target precision. `ConformalSets` gives the smallest set of candidates
that contains the right candidate with a target probability, by mention type. The probability of the best candidate is its
confidence. The remaining probability is distributed over the other candidates, by how often the right candidate had their rank.
A candidate is in the set if its probability reaches a threshold, which is fitted to the right candidates of labelled documents
(split conformal prediction). A mention whose right concept is not a candidate cannot be covered, so coverage has a ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic.dataclasses import dataclass

from onym.calibrate.estimators import CHECKED, Floats, require, risk_coverage

_POINTS = 400  # maximum points of a precision curve
_RULE_OF_THREE = 3.0  # if all n answers are right, the true error rate is below 3/n with 95 % confidence
COVERAGES = tuple(round(0.5 + step / 100, 2) for step in range(50))
"""The supported coverages: 0.50, 0.51, ..., 0.99."""
_MIN_MENTIONS = 50  # minimum mentions of a type; rarer types share the general thresholds
_RANKS = 50  # maximum rank of the right candidate to count; mentions with a higher rank are ignored


class Reachable(NamedTuple):
    """A threshold with its precision and coverage on the fitted answers; `is_reached` says whether the target was met."""

    threshold: float
    precision: float
    coverage: float
    is_reached: bool


@dataclass(frozen=True, config=CHECKED)
class PrecisionCurve:
    """Precision and coverage of the answers at or above each threshold, highest threshold first.

    Precision is capped at 1 - 3/n for n answers (rule of three): 100 right answers out of 100 give 0.97, not 1.
    """

    thresholds: tuple[float, ...]
    precisions: tuple[float, ...]
    coverages: tuple[float, ...]

    def __post_init__(self) -> None:
        is_even = len(self.thresholds) == len(self.precisions) == len(self.coverages) > 0
        is_sound = is_even and all(0 <= share <= 1 for share in (*self.precisions, *self.coverages))
        is_sorted = list(self.thresholds) == sorted(self.thresholds)[::-1]
        require(is_sound and is_sorted, "the precision curve of a calibration is invalid")

    @classmethod
    def fit(cls, scores: Floats, outcomes: npt.NDArray[np.generic]) -> PrecisionCurve:
        """Fit the curve to scores and outcomes, with up to 400 thresholds at equal steps of coverage."""
        require(len(scores), "there are no labelled answers to fit", "use documents with annotated mentions")
        coverage, risk = risk_coverage(scores, outcomes)
        values = np.unique(np.asarray(scores, dtype=np.float64))[::-1]
        wanted = np.searchsorted(coverage, np.linspace(0, 1, _POINTS))
        kept = np.unique(np.append(np.minimum(wanted, len(values) - 1), len(values) - 1))
        shown = 1 - _RULE_OF_THREE / (coverage[kept] * len(scores))
        shares = (np.minimum(1 - risk[kept], shown), coverage[kept])
        return cls(tuple(values[kept].tolist()), *(tuple(np.clip(each, 0, 1).tolist()) for each in shares))

    def best_f1(self, answers: int, gold: int) -> Reachable:
        """Return the threshold with the best F1, for `answers` answers in total and `gold` gold mentions.

        >>> curve = PrecisionCurve.fit(np.repeat([0.9, 0.8, 0.3], 100), np.repeat([1, 1, 0], 100))
        >>> curve.best_f1(300, gold=250).threshold
        0.8
        """
        answered = np.array(self.coverages) * answers
        row = int(np.argmax(np.array(self.precisions) * answered / (answered + gold)))
        return Reachable(self.thresholds[row], self.precisions[row], self.coverages[row], is_reached=True)

    def at(self, precision: float) -> Reachable:
        """Return the lowest threshold with at least this precision; if there is none, return the most precise threshold.

        >>> curve = PrecisionCurve.fit(np.repeat([0.9, 0.8, 0.3], 100), np.repeat([1, 1, 0], 100))
        >>> curve.at(0.9)
        Reachable(threshold=0.8, precision=0.985, coverage=0.6666666666666666, is_reached=True)
        >>> curve.at(0.99).is_reached
        False
        """
        require(0 < precision <= 1, "the precision must be above 0 and at most 1", "use a value such as 0.95")
        enough = [row for row, each in enumerate(self.precisions) if each >= precision]
        row = enough[-1] if enough else int(np.argmax(self.precisions))
        return Reachable(self.thresholds[row], self.precisions[row], self.coverages[row], bool(enough))


@dataclass(frozen=True, config=CHECKED)
class TypeSets:
    """The thresholds of a mention type, one for each of `COVERAGES`, and the share of mentions that have a right candidate."""

    thresholds: tuple[float, ...]
    ceiling: float

    def __post_init__(self) -> None:
        require(len(self.thresholds) == len(COVERAGES) and 0 <= self.ceiling <= 1, "the sets of a calibration are incomplete")

    @classmethod
    def fit(cls, right: Floats) -> TypeSets:
        """Fit to the probability of each mention's right candidate; NaN for a mention without a right candidate."""
        known = np.sort(np.where(np.isnan(right), -1.0, right))
        ranks = [
            int(np.floor((1 - coverage) * (len(known) + 1))) for coverage in COVERAGES
        ]  # number of right candidates allowed below the threshold
        thresholds = (max(0.0, float(known[rank - 1])) if rank else 0.0 for rank in ranks)
        return cls(tuple(thresholds), float(np.mean(~np.isnan(right))))


@dataclass(frozen=True, config=CHECKED)
class ConformalSets:
    """Conformal candidate sets by mention type; the key "" of `by_type` holds the thresholds for types without an entry.

    `shares` distributes the probability that the best candidate is wrong over ranks 2, 3, ...

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
        """Fit to the confidence of each mention's best candidate and the rank of its right candidate."""
        require(len(confidences) == len(ranks) == len(types) > 0, "there are no labelled mentions to fit")
        later = np.array([rank - 2 for rank in ranks if rank and 1 < rank <= _RANKS], dtype=np.int64)
        counts = np.bincount(later, minlength=1) + 1.0  # add-one smoothing, so that no rank has probability 0
        made = cls(tuple((counts / counts.sum()).tolist()), {"": TypeSets.fit(np.array([np.nan]))})
        right = np.array(
            [made._candidate_probability(p, rank) if rank else np.nan for p, rank in zip(confidences, ranks, strict=True)]
        )
        named = np.array(types, dtype=object)
        groups = {name: right[named == name] for name in dict.fromkeys(types)}
        groups = {name: values for name, values in groups.items() if len(values) >= _MIN_MENTIONS} | {"": right}
        return cls(made.shares, {name: TypeSets.fit(values) for name, values in groups.items()})

    def size(self, coverage: float, *, confidence: float, candidates: int, of_type: str) -> int:
        """Return how many of a mention's candidates, best first, are in its set: at least 1 if there are candidates."""
        threshold = self._of(of_type).thresholds[COVERAGES.index(coverage)]
        enough = (self._candidate_probability(confidence, rank) >= threshold for rank in range(2, candidates + 1))
        return min(candidates, 1) + sum(enough)

    def ceiling(self, of_type: str) -> float:
        """Return the share of mentions of a type whose right concept is among the candidates."""
        return self._of(of_type).ceiling

    def _of(self, of_type: str) -> TypeSets:
        return self.by_type.get(of_type) or self.by_type[""]

    def _candidate_probability(self, confidence: float, rank: int) -> float:
        """Return the probability that the candidate at a rank is right."""
        if rank == 1:
            return float(confidence)
        return float(1 - confidence) * (self.shares[rank - 2] if rank - 2 < len(self.shares) else 0.0)


def require_coverage(coverage: float) -> float:
    """Return the coverage, rounded to two decimals; raise InputError if it is not supported.

    >>> require_coverage(0.9)
    0.9
    """
    rounded = round(coverage, 2)
    require(
        rounded in COVERAGES and abs(rounded - coverage) < 1e-9,
        f"the coverage must be between {COVERAGES[0]} and {COVERAGES[-1]}, with two decimals",
        "use a value such as 0.9",
    )
    return rounded
