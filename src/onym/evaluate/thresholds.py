"""Threshold tuning: the minimum score of an answer with the best strict F1 on a development set.

Below the threshold a mention is left unlinked (NIL). A pipeline is run once, without a threshold; no model runs again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from onym.evaluate.cases import CanonicalId
from onym.evaluate.end_to_end.protocols import EndToEndScores
from onym.outputs.predictions import DocumentNames, Prediction, Predictions
from onym.types import Document

CANDIDATES = 200
"""How many thresholds are tried: quantiles of the scores."""
_DIGITS, _FOLDS = 4, 5
_PROTOCOL = "bhowmik-strict"


@dataclass(frozen=True, slots=True)
class TunedThreshold:
    """The best threshold, the strict F1 with it, and the strict F1 without a threshold."""

    threshold: float
    f1: float
    f1_without: float


def tune_threshold(gold: Sequence[Document], predictions: Predictions, canonical: CanonicalId = str) -> TunedThreshold:
    """Return the threshold with the best strict F1; of equally good ones the lowest.

    `predictions` are those of a pipeline without a threshold, on the same documents.

    >>> from onym.outputs.predictions import Prediction
    >>> from onym.types import Mention
    >>> gold = Document("1", "fever high", (Mention(0, 5, "fever", ("mesh:D005334",)),))
    >>> right, wrong = ((("mesh:D005334",), 0.9, 0),), ((("mesh:D006973",), 0.4, 1),)
    >>> made = Predictions.of([Prediction("1", 0, 5, right), Prediction("1", 6, 10, wrong)], {})
    >>> tuned = tune_threshold([gold], made)
    >>> 0.4 < tuned.threshold <= 0.9, tuned.f1, round(tuned.f1_without, 2)
    (True, 1.0, 0.67)
    """
    scores = [one.answers[0][1] for one in predictions if one.answers] or [0.0]
    candidates = sorted({round(float(each), _DIGITS) for each in np.quantile(scores, np.linspace(0, 1, CANDIDATES))})
    answers = _Answers.of(gold, predictions, canonical)
    figures = {threshold: answers.scores(threshold).f1 for threshold in candidates}
    best = max(candidates, key=figures.__getitem__)
    return TunedThreshold(best, figures[best], answers.scores().f1)


def held_out_f1(gold: Sequence[Document], predictions: Predictions, canonical: CanonicalId = str) -> float:
    """Return the strict F1 that tuning brings to documents that it did not see: each fold has the threshold of the others.

    Where it is not better than without a threshold, a threshold would follow the chance of these few documents.

    >>> from onym.types import Mention
    >>> gold = [Document(str(n), "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),)) for n in range(10)]
    >>> made = Predictions.of([Prediction(str(n), 0, 5, ((("mesh:D005334",), 0.9, 0),)) for n in range(10)], {})
    >>> held_out_f1(gold, made)
    1.0
    """
    folds = []
    for fold in range(_FOLDS):
        inside = [doc for number, doc in enumerate(gold) if number % _FOLDS == fold]
        outside = [doc for number, doc in enumerate(gold) if number % _FOLDS != fold]
        tuned = tune_threshold(outside, _part(predictions, outside), canonical)
        folds.append(_Answers.of(inside, _part(predictions, inside), canonical).scores(tuned.threshold))
    return _strict(*(sum(getattr(each, name) for each in folds) for name in ("gold", "predicted", "right"))).f1


def _part(predictions: Predictions, docs: Sequence[Document]) -> Predictions:
    keys = {doc.key for doc in docs}
    return Predictions.of((one for one in predictions if one.document_key in keys), predictions.source)


@dataclass(frozen=True, slots=True)
class _Answers:
    """The concepts that were predicted for spans, each with its score and whether it is gold; and how many gold ones are."""

    score: npt.NDArray[np.float64]
    is_right: npt.NDArray[np.bool_]
    gold: int

    @classmethod
    def of(cls, gold: Sequence[Document], predictions: Predictions, canonical: CanonicalId) -> _Answers:
        names = DocumentNames.of_documents(gold)
        wanted = {
            (names.of(doc.key), mention.start, mention.end, canonical(concept_id))
            for doc in gold
            for mention in doc.mentions
            for concept_id in mention.concept_ids
        }
        known = {names.of(doc.key) for doc in gold}
        found = {
            (name, start, end, canonical(concept_id)): answers[0][1]
            for (name, start, end), answers in predictions.answers_to(names).items()
            if name in known and answers
            for concept_id in answers[0][0]
        }
        return cls(np.array(list(found.values())), np.array([item in wanted for item in found], dtype=bool), len(wanted))

    def scores(self, threshold: float = -np.inf) -> EndToEndScores:
        """Return the strict scores of the answers with at least that score."""
        is_kept = self.score >= threshold
        return _strict(self.gold, int(is_kept.sum()), int((is_kept & self.is_right).sum()))


def _strict(gold: int, predicted: int, right: int) -> EndToEndScores:
    return EndToEndScores(_PROTOCOL, gold=gold, predicted=predicted, right=right, found=right)


def above_threshold(predictions: Predictions, threshold: float) -> Predictions:
    """Return the predictions of a pipeline with that threshold: mentions with a lower score are left unlinked.

    >>> from onym.outputs.predictions import Prediction
    >>> one, other = ((("mesh:D1",), 0.9, 0),), ((("mesh:D2",), 0.4, 1),)
    >>> made = Predictions.of([Prediction("1", 0, 2, one), Prediction("1", 3, 5, other)], {"threshold": None})
    >>> [each.nil_reason for each in above_threshold(made, 0.5)], above_threshold(made, 0.5).source
    ([None, 'below-threshold'], {'threshold': 0.5})
    """
    kept = (one if one.answers and one.answers[0][1] >= threshold else _left_unlinked(one) for one in predictions)
    return Predictions.of(kept, predictions.source | {"threshold": threshold})


def _left_unlinked(one: Prediction) -> Prediction:
    return replace(one, nil_reason="below-threshold") if one.answers else one
