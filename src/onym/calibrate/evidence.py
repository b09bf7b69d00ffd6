"""What an answer says of itself, whatever the linker: its score, the margin to the next one, ties, and the surface's length."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass as plain_dataclass
from typing import NamedTuple

import numpy as np
from pydantic.dataclasses import dataclass

from onym.calibrate.values import CHECKED, Floats, require
from onym.types import Link

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
_SHORT = 4  # characters: mostly abbreviations


class ScoredAnswer(NamedTuple):
    """The best score, the next one (that of the best where there is none), how many tied, and the surface's length."""

    best: float
    second: float
    candidates: int
    tied: int
    length: int

    @classmethod
    def of(cls, scores: tuple[float, ...], tied: int, length: int) -> ScoredAnswer:
        """Return the answer of candidates' scores, best first; there is at least one.

        >>> ScoredAnswer.of((0.9, 0.4), tied=0, length=5)
        ScoredAnswer(best=0.9, second=0.4, candidates=2, tied=0, length=5)
        """
        return cls(scores[0], scores[1] if len(scores) > 1 else scores[0], len(scores), tied, length)

    @classmethod
    def of_link(cls, link: Link) -> ScoredAnswer:
        """Return the answer of a link that has candidates."""
        return cls.of(tuple(each.score for each in link.candidates[:2]), link.tied, len(link.mention.surface))


@plain_dataclass(frozen=True)
class Answers:
    """Many answers, by column."""

    columns: Floats

    @classmethod
    def of(cls, answers: Iterable[ScoredAnswer]) -> Answers:
        """Return answers as columns; scores that are not finite count as very low.

        >>> Answers.of([ScoredAnswer(0.9, 0.4, 2, 0, 5)]).best.tolist()
        [0.9]
        """
        rows = np.array([tuple(answer) for answer in answers], dtype=np.float64).reshape(-1, len(ScoredAnswer._fields))
        return cls(np.nan_to_num(rows, nan=-1e9, posinf=1e9, neginf=-1e9))

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def best(self) -> Floats:
        """The score of each answer."""
        return self.columns[:, 0]

    @property
    def margin(self) -> Floats:
        """How far each answer is above the next one; 0 where it is the only one."""
        return self.columns[:, 0] - self.columns[:, 1]

    def part(self, rows: np.typing.NDArray[np.generic]) -> Answers:
        """Return some of the answers."""
        return Answers(self.columns[rows])


@dataclass(frozen=True, config=CHECKED)
class Evidence:
    """Columns made of answers. Score and margin are bent at quantiles, so that weights can follow a curve.

    >>> answers = Answers.of([ScoredAnswer(0.9, 0.4, 2, 0, 5), ScoredAnswer(0.5, 0.5, 1, 3, 2)])
    >>> Evidence.fit(answers).of(answers).shape
    (2, 16)
    """

    scores: tuple[float, ...]
    margins: tuple[float, ...]

    def __post_init__(self) -> None:
        require(len(self.scores) + len(self.margins) <= 2 * len(_QUANTILES), "a calibration has too many bends")

    @classmethod
    def fit(cls, answers: Answers) -> Evidence:
        """Choose where score and margin are bent."""
        return cls(_bends(answers.best), _bends(answers.margin))

    def of(self, answers: Answers) -> Floats:
        """Return the columns of answers."""
        _, _, candidates, tied, length = answers.columns.T
        bent = [np.maximum(0.0, answers.best - bend) for bend in self.scores]
        bent += [np.maximum(0.0, answers.margin - bend) for bend in self.margins]
        other = [candidates == 1, np.log1p(tied), np.log1p(length), length <= _SHORT]
        return np.stack([answers.best, answers.margin, *bent, *other], axis=1).astype(np.float64)


def _bends(values: Floats) -> tuple[float, ...]:
    """Return the quantiles that lie within the values."""
    found = np.unique(np.quantile(values, _QUANTILES))
    return tuple(found[(found > values.min()) & (found < values.max())].tolist())
