"""From a wanted precision to a threshold: how confident an answer has to be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic.dataclasses import dataclass

from onym.calibrate.measures import risk_coverage
from onym.calibrate.values import CHECKED, Floats, require

_POINTS = 400
_RULE_OF_THREE = 3.0  # if none of n answers is wrong, the true share of wrong ones is below 3/n (with 95 % confidence)


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
