"""Calibration of answers: map features of an answer to the probability that it is right.

The features are available for every linker: the score, the margin to the second candidate, ties, and the length of the surface.
If a detector found the mention, the detector's score is a feature too, and the probability covers both span and concept. For
terms without context, it matters whether the surface is a name of the concept.

Two models are compared by five-fold cross-validation over documents: Venn-Abers on the score alone, and logistic regression on
all features, which is used if its log loss is clearly lower. The held-out probabilities are also used to fit the precision
curve and the conformal sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass as plain_dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic.dataclasses import dataclass

from onym.calibrate.estimators import (
    CHECKED,
    Floats,
    Isotonic,
    Logistic,
    Spread,
    area_under_roc,
    expected_calibration_error,
    fit_venn_abers,
    require,
)
from onym.calibrate.thresholds import ConformalSets, PrecisionCurve
from onym.types import Link

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)  # quantiles that are the knots of the piecewise linear features
_SHORT = 4  # surfaces of up to 4 characters, mostly abbreviations, get a feature of their own
_EXTREME_SCORE = 1e-4  # detector scores are clipped to this distance from 0 and 1
ANNOTATED = 1.0
"""The detection score of annotated mentions, which need no detector."""


class ScoredAnswer(NamedTuple):
    """The best two scores of a mention's candidates, the number of candidates and ties, and the length of the surface.

    If there is only one candidate, `second` equals `best`. `detection` is the score that the detector gave the mention.
    `is_named` says whether the surface is a name of the best candidate.
    """

    best: float
    second: float
    candidates: int
    tied: int
    length: int
    detection: float = ANNOTATED
    is_named: bool = False

    @classmethod
    def of(
        cls, scores: tuple[float, ...], tied: int, length: int, detection: float | None = None, *, is_named: bool = False
    ) -> ScoredAnswer:
        """Create an answer from the scores of its candidates, best first; there must be at least one candidate.

        >>> ScoredAnswer.of((0.9, 0.4), tied=0, length=5)
        ScoredAnswer(best=0.9, second=0.4, candidates=2, tied=0, length=5, detection=1.0, is_named=False)
        """
        second = scores[1] if len(scores) > 1 else scores[0]
        return cls(scores[0], second, len(scores), tied, length, ANNOTATED if detection is None else detection, is_named)

    @classmethod
    def of_link(cls, link: Link, *, is_named: bool = False) -> ScoredAnswer:
        """Create the answer of a link, which must have candidates."""
        scores = tuple(each.score for each in link.candidates[:2])
        return cls.of(scores, link.tied, len(link.mention.surface), link.detection_score, is_named=is_named)


@plain_dataclass(frozen=True)
class Answers:
    """Several answers as an array with a row per answer and a column for each field of `ScoredAnswer`."""

    columns: Floats

    @classmethod
    def of(cls, answers: Iterable[ScoredAnswer]) -> Answers:
        """Collect answers into columns; NaN becomes -1e9, and infinities become 1e9 or -1e9.

        >>> Answers.of([ScoredAnswer(0.9, 0.4, 2, 0, 5)]).best.tolist()
        [0.9]
        """
        rows = np.array([tuple(answer) for answer in answers], dtype=np.float64).reshape(-1, len(ScoredAnswer._fields))
        return cls(np.nan_to_num(rows, nan=-1e9, posinf=1e9, neginf=-1e9))

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def best(self) -> Floats:
        """The best score of each answer."""
        return self.columns[:, 0]

    @property
    def margin(self) -> Floats:
        """The difference between the best two scores; 0 if there is only one candidate."""
        return self.columns[:, 0] - self.columns[:, 1]

    @property
    def detection(self) -> Floats:
        """The detection score of each mention, as log odds."""
        shares = np.clip(self.columns[:, 5], _EXTREME_SCORE, 1 - _EXTREME_SCORE)
        return np.log(shares / (1 - shares))

    @property
    def is_named(self) -> Floats:
        """1 for each answer whose surface is a name of the concept, else 0."""
        return self.columns[:, 6]

    def part(self, rows: np.typing.NDArray[np.generic]) -> Answers:
        """Return the answers of the given rows."""
        return Answers(self.columns[rows])


@dataclass(frozen=True, config=CHECKED)
class AnswerFeatures:
    """Features of answers for logistic regression, piecewise linear in score, margin and detection score.

    The fields hold the knots, which are quantiles of the fitted values. `detections` is None if all detection scores are equal,
    as for annotated mentions. Only then does it matter whether surfaces are names (`uses_names`).

    >>> answers = Answers.of([ScoredAnswer(0.9, 0.4, 2, 0, 5), ScoredAnswer(0.5, 0.5, 1, 3, 2)])
    >>> AnswerFeatures.fit(answers).of(answers).shape
    (2, 16)
    """

    scores: tuple[float, ...]
    margins: tuple[float, ...]
    detections: tuple[float, ...] | None = None
    uses_names: bool = False

    def __post_init__(self) -> None:
        bends = (self.scores, self.margins, self.detections or ())
        require(all(len(each) <= len(_QUANTILES) for each in bends), "a calibration has too many knots")

    @classmethod
    def fit(cls, answers: Answers) -> AnswerFeatures:
        """Choose the knots."""
        detections = answers.detection
        differ = bool(len(detections)) and detections.min() < detections.max()
        uses_names = not differ and 0 < answers.is_named.sum() < len(answers)
        return cls(_bends(answers.best), _bends(answers.margin), _bends(detections) if differ else None, bool(uses_names))

    def of(self, answers: Answers) -> Floats:
        """Return the feature matrix of answers."""
        _, _, candidates, tied, length, _, is_named = answers.columns.T
        columns = [_stack(answers.best, answers.margin), _bent(answers.best, self.scores), _bent(answers.margin, self.margins)]
        columns += [_stack(candidates == 1, np.log1p(tied), np.log1p(length), length <= _SHORT)]
        if self.detections is not None:
            columns += [_stack(answers.detection), _bent(answers.detection, self.detections)]
        if self.uses_names:
            columns += [_stack(is_named)]
        return np.concatenate(columns, axis=1, dtype=np.float64)


def _stack(*columns: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    return np.stack(columns, axis=1)


def _bent(values: Floats, bends: tuple[float, ...]) -> Floats:
    return np.maximum(0.0, values[:, None] - np.array(bends, dtype=np.float64))


def _bends(values: Floats) -> tuple[float, ...]:
    """Return the quantiles strictly between the minimum and maximum of the values."""
    found = np.unique(np.quantile(values, _QUANTILES))
    return tuple(found[(found > values.min()) & (found < values.max())].tolist())


FOLDS = 5
MIN_ANSWERS = 50
_BETTER = 0.01  # `ByEvidence` is used if its log loss is at least 1 % lower than the log loss of `ByScore`
_EXTREME = 1e-3  # probabilities are clipped to this distance from 0 and 1 in the log loss


@dataclass(frozen=True, config=CHECKED)
class ByScore:
    """Calibration by the score alone (Venn-Abers)."""

    function: Isotonic

    @classmethod
    def fit(cls, answers: Answers, right: Floats) -> ByScore:
        """Fit to answers; `right` is 1 for right answers, else 0."""
        return cls(fit_venn_abers(answers.best, right))

    def probabilities(self, answers: Answers) -> Floats:
        """Return the probability that each answer is right."""
        return self.function.probabilities(answers.best)


@dataclass(frozen=True, config=CHECKED)
class ByEvidence:
    """Calibration by score, margin, ties, surface length and detection score (logistic regression)."""

    evidence: AnswerFeatures
    function: Logistic

    @classmethod
    def fit(cls, answers: Answers, right: Floats) -> ByEvidence:
        """Fit to answers; `right` is 1 for right answers, else 0."""
        evidence = AnswerFeatures.fit(answers)
        return cls(evidence, Logistic.fit(evidence.of(answers), right))

    def probabilities(self, answers: Answers) -> Floats:
        """Return the probability that each answer is right."""
        return 1 / (1 + np.exp(-np.clip(self.function.log_odds(self.evidence.of(answers)), -30, 30)))


Way = ByScore | ByEvidence


@dataclass(frozen=True, config=CHECKED)
class CalibrationQuality:
    """The quality of the cross-validated probabilities."""

    answers: int
    accuracy: float
    log_loss: float
    ece: float
    auroc: float | None

    @classmethod
    def of(cls, probabilities: Floats, right: Floats) -> CalibrationQuality:
        """Compute the metrics of probabilities; `right` says which answers are right."""
        clipped = np.clip(probabilities, _EXTREME, 1 - _EXTREME)
        loss = -float(np.mean(right * np.log(clipped) + (1 - right) * np.log(1 - clipped)))
        auroc = area_under_roc(probabilities, right)
        error = expected_calibration_error(probabilities, right)
        return cls(len(right), float(right.mean()), loss, error, None if np.isnan(auroc) else auroc)


@dataclass(frozen=True, config=CHECKED)
class Calibration:
    """A fitted calibration; `quality` holds its cross-validated metrics.

    >>> from onym.calibrate.calibration import ScoredAnswer
    >>> scores = np.linspace(0, 1, 200)
    >>> answers = Answers.of(ScoredAnswer(score, 0.0, 2, 0, 8) for score in scores)
    >>> ranks = [1 if score > 0.5 else None for score in scores]
    >>> fitted = Calibration.fit(answers, ranks, [str(row % 20) for row in range(200)], [""] * 200)
    >>> fitted.confidences(Answers.of([ScoredAnswer(0.9, 0.0, 2, 0, 8), ScoredAnswer(0.1, 0.0, 2, 0, 8)])).round(1).tolist()
    [1.0, 0.0]
    """

    way: Way
    curve: PrecisionCurve
    sets: ConformalSets
    spread: Spread
    quality: CalibrationQuality

    @classmethod
    def fit(cls, answers: Answers, ranks: Sequence[int | None], documents: Sequence[str], types: Sequence[str]) -> Calibration:
        """Fit to the rank of the right candidate of each mention; folds are split by document."""
        folds = _folds(documents)
        fix = f"use a corpus with at least {FOLDS} documents and {MIN_ANSWERS} answered mentions"
        require(len(answers) >= MIN_ANSWERS and len(set(documents)) >= FOLDS, "too few answers to fit a calibration", fix)
        right = np.array([rank == 1 for rank in ranks], dtype=np.float64)
        by_score, by_evidence = (_cross_validate(way, answers, right, folds) for way in (ByScore, ByEvidence))
        losses = [CalibrationQuality.of(each, right).log_loss for each in (by_score, by_evidence)]
        is_better = losses[1] < (1 - _BETTER) * losses[0]
        kind, unseen = (ByEvidence, by_evidence) if is_better else (ByScore, by_score)
        way, curve, sets = kind.fit(answers, right), PrecisionCurve.fit(unseen, right), ConformalSets.fit(unseen, ranks, types)
        return cls(way, curve, sets, Spread.fit(way.probabilities(answers)), CalibrationQuality.of(unseen, right))

    @property
    def uses_names(self) -> bool:
        """Whether `is_named` of the answers matters."""
        return isinstance(self.way, ByEvidence) and self.way.evidence.uses_names

    def confidences(self, answers: Answers) -> Floats:
        """Return the probability that each answer is right."""
        return self.way.probabilities(answers)


def _folds(documents: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return the cross-validation fold of each mention; mentions of one document share a fold."""
    numbers = {doc: number for number, doc in enumerate(dict.fromkeys(documents))}
    return np.array([numbers[doc] % FOLDS for doc in documents], dtype=np.int64)


def _cross_validate(way: type[ByScore | ByEvidence], answers: Answers, right: Floats, folds: npt.NDArray[np.int64]) -> Floats:
    """Return the probability of each answer from a model fitted to the other folds."""
    found = np.zeros(len(answers))
    for fold in range(FOLDS):
        is_out = folds == fold
        fitted = way.fit(answers.part(~is_out), right[~is_out])
        found[is_out] = fitted.probabilities(answers.part(is_out))
    return found
