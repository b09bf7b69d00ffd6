"""What an answer says of itself, whatever the linker: its score, the margin to the next one, ties, and the surface's length.

Where a detector found the mention, also how likely that makes it a mention: one probability then covers span and concept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass as plain_dataclass
from typing import NamedTuple

import numpy as np
from pydantic.dataclasses import dataclass

from onym.calibrate.measures import CHECKED, Floats, require
from onym.types import Link

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
_SHORT = 4  # characters: mostly abbreviations
_EXTREME = 1e-4  # the score of a detector counts as no nearer to 0 or 1 than this
ANNOTATED = 1.0
"""The score of a mention that no detector had to find."""


class ScoredAnswer(NamedTuple):
    """The best score, the next one (that of the best where there is none), how many tied, and the surface's length.

    `detection` is the score of the detector that found the mention.
    """

    best: float
    second: float
    candidates: int
    tied: int
    length: int
    detection: float = ANNOTATED

    @classmethod
    def of(cls, scores: tuple[float, ...], tied: int, length: int, detection: float | None = None) -> ScoredAnswer:
        """Return the answer of candidates' scores, best first; there is at least one.

        >>> ScoredAnswer.of((0.9, 0.4), tied=0, length=5)
        ScoredAnswer(best=0.9, second=0.4, candidates=2, tied=0, length=5, detection=1.0)
        """
        second = scores[1] if len(scores) > 1 else scores[0]
        return cls(scores[0], second, len(scores), tied, length, ANNOTATED if detection is None else detection)

    @classmethod
    def of_link(cls, link: Link) -> ScoredAnswer:
        """Return the answer of a link that has candidates."""
        scores = tuple(each.score for each in link.candidates[:2])
        return cls.of(scores, link.tied, len(link.mention.surface), link.detection_score)


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

    @property
    def detection(self) -> Floats:
        """The log odds of each mention, as its detector sees them."""
        shares = np.clip(self.columns[:, 5], _EXTREME, 1 - _EXTREME)
        return np.log(shares / (1 - shares))

    def part(self, rows: np.typing.NDArray[np.generic]) -> Answers:
        """Return some of the answers."""
        return Answers(self.columns[rows])


@dataclass(frozen=True, config=CHECKED)
class Evidence:
    """Columns made of answers. Score and margin are bent at quantiles, so that weights can follow a curve.

    So are the scores of a detector; `detections` is None where they do not differ, as those of annotated mentions.

    >>> answers = Answers.of([ScoredAnswer(0.9, 0.4, 2, 0, 5), ScoredAnswer(0.5, 0.5, 1, 3, 2)])
    >>> Evidence.fit(answers).of(answers).shape
    (2, 16)
    """

    scores: tuple[float, ...]
    margins: tuple[float, ...]
    detections: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        bends = (self.scores, self.margins, self.detections or ())
        require(all(len(each) <= len(_QUANTILES) for each in bends), "a calibration has too many bends")

    @classmethod
    def fit(cls, answers: Answers) -> Evidence:
        """Choose where score and margin are bent."""
        detections = answers.detection
        differ = bool(len(detections)) and detections.min() < detections.max()
        return cls(_bends(answers.best), _bends(answers.margin), _bends(detections) if differ else None)

    def of(self, answers: Answers) -> Floats:
        """Return the columns of answers."""
        _, _, candidates, tied, length, _ = answers.columns.T
        columns = [answers.best, answers.margin, *_bent(answers.best, self.scores), *_bent(answers.margin, self.margins)]
        columns += [candidates == 1, np.log1p(tied), np.log1p(length), length <= _SHORT]
        if self.detections is not None:
            columns += [answers.detection, *_bent(answers.detection, self.detections)]
        return np.stack(columns, axis=1).astype(np.float64)


def _bent(values: Floats, bends: tuple[float, ...]) -> list[Floats]:
    return [np.maximum(0.0, values - bend) for bend in bends]


def _bends(values: Floats) -> tuple[float, ...]:
    """Return the quantiles that lie within the values."""
    found = np.unique(np.quantile(values, _QUANTILES))
    return tuple(found[(found > values.min()) & (found < values.max())].tolist())
