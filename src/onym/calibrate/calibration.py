"""A calibration: from what an answer says of itself to the probability that it is right.

Two ways are tried on documents that were held out, five times in turn: by the score alone (Venn-Abers), and by score, margin,
ties and length together (logistic regression), which is kept if its log loss is lower. The held-out probabilities also give the
curve of precisions and the conformal sets.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pydantic.dataclasses import dataclass

from onym.calibrate.estimators import Isotonic, Logistic, fit_venn_abers
from onym.calibrate.evidence import Answers, Evidence
from onym.calibrate.measures import CHECKED, Floats, Spread, area_under_roc, expected_calibration_error, require
from onym.calibrate.thresholds import ConformalSets, PrecisionCurve

FOLDS = 5
MIN_ANSWERS = 50
_BETTER = 0.01  # by this share the log loss has to be lower for more than the score to be looked at
_EXTREME = 1e-3  # a probability counts as no nearer to 0 or 1 than this


@dataclass(frozen=True, config=CHECKED)
class ByScore:
    """The probability of an answer by its score alone."""

    function: Isotonic

    @classmethod
    def fit(cls, answers: Answers, right: Floats) -> ByScore:
        """Fit answers to whether they were right."""
        return cls(fit_venn_abers(answers.best, right))

    def probabilities(self, answers: Answers) -> Floats:
        """Return the probability that each answer is right."""
        return self.function.probabilities(answers.best)


@dataclass(frozen=True, config=CHECKED)
class ByEvidence:
    """The probability of an answer by its score, the margin to the next, ties, and the length of the surface."""

    evidence: Evidence
    function: Logistic

    @classmethod
    def fit(cls, answers: Answers, right: Floats) -> ByEvidence:
        """Fit answers to whether they were right."""
        evidence = Evidence.fit(answers)
        return cls(evidence, Logistic.fit(evidence.of(answers), right))

    def probabilities(self, answers: Answers) -> Floats:
        """Return the probability that each answer is right."""
        return 1 / (1 + np.exp(-np.clip(self.function.log_odds(self.evidence.of(answers)), -30, 30)))


Way = ByScore | ByEvidence


@dataclass(frozen=True, config=CHECKED)
class CalibrationQuality:
    """How good the probabilities of held-out answers were."""

    answers: int
    accuracy: float
    log_loss: float
    ece: float
    auroc: float | None

    @classmethod
    def of(cls, probabilities: Floats, right: Floats) -> CalibrationQuality:
        """Measure probabilities of answers that were judged."""
        clipped = np.clip(probabilities, _EXTREME, 1 - _EXTREME)
        loss = -float(np.mean(right * np.log(clipped) + (1 - right) * np.log(1 - clipped)))
        auroc = area_under_roc(probabilities, right)
        error = expected_calibration_error(probabilities, right)
        return cls(len(right), float(right.mean()), loss, error, None if np.isnan(auroc) else auroc)


@dataclass(frozen=True, config=CHECKED)
class Calibration:
    """A fitted calibration; `quality` says how good it was on documents that it had not seen.

    >>> from onym.calibrate.evidence import ScoredAnswer
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
        """Fit to the rank of the right one among each mention's candidates. Mentions of a document are held out together."""
        folds = _folds(documents)
        fix = f"give a corpus with at least {FOLDS} documents and {MIN_ANSWERS} mentions that get an answer"
        require(len(answers) >= MIN_ANSWERS and len(set(documents)) >= FOLDS, "too few answers to fit a calibration", fix)
        right = np.array([rank == 1 for rank in ranks], dtype=np.float64)
        by_score, by_evidence = (_held_out(way, answers, right, folds) for way in (ByScore, ByEvidence))
        losses = [CalibrationQuality.of(each, right).log_loss for each in (by_score, by_evidence)]
        is_better = losses[1] < (1 - _BETTER) * losses[0]
        kind, unseen = (ByEvidence, by_evidence) if is_better else (ByScore, by_score)
        way, curve, sets = kind.fit(answers, right), PrecisionCurve.fit(unseen, right), ConformalSets.fit(unseen, ranks, types)
        return cls(way, curve, sets, Spread.fit(way.probabilities(answers)), CalibrationQuality.of(unseen, right))

    def confidences(self, answers: Answers) -> Floats:
        """Return the probability that each answer is right."""
        return self.way.probabilities(answers)


def _folds(documents: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return the fold of each mention, by its document."""
    numbers = {doc: number for number, doc in enumerate(dict.fromkeys(documents))}
    return np.array([numbers[doc] % FOLDS for doc in documents], dtype=np.int64)


def _held_out(way: type[ByScore | ByEvidence], answers: Answers, right: Floats, folds: npt.NDArray[np.int64]) -> Floats:
    """Return the probability of each answer, fitted to the other folds."""
    found = np.zeros(len(answers))
    for fold in range(FOLDS):
        is_out = folds == fold
        fitted = way.fit(answers.part(~is_out), right[~is_out])
        found[is_out] = fitted.probabilities(answers.part(is_out))
    return found
