"""Threshold tuning: the minimum score of an answer with the best strict F1 on a development set.

Below the threshold a mention is left unlinked (NIL). A pipeline is run once, without a threshold; no model runs again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from onym.evaluate.cases import CanonicalId
from onym.evaluate.end_to_end.evaluation import predicted_documents
from onym.evaluate.end_to_end.protocols import score_end_to_end
from onym.predictions.file import Prediction, Predictions
from onym.types import Document, DocumentKey

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

    >>> from onym.predictions.file import Prediction
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

    figures = {threshold: _f1(gold, above_threshold(predictions, threshold), canonical) for threshold in candidates}
    best = max(candidates, key=figures.__getitem__)
    return TunedThreshold(best, figures[best], _f1(gold, predictions, canonical))


def held_out_f1(gold: Sequence[Document], predictions: Predictions, canonical: CanonicalId = str) -> float:
    """Return the strict F1 that tuning brings to documents that it did not see: each fold has the threshold of the others.

    Where it is not better than without a threshold, a threshold would follow the chance of these few documents.

    >>> from onym.types import Mention
    >>> gold = [Document(str(n), "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),)) for n in range(10)]
    >>> made = Predictions.of([Prediction(str(n), 0, 5, ((("mesh:D005334",), 0.9, 0),)) for n in range(10)], {})
    >>> held_out_f1(gold, made)
    1.0
    """
    kept: list[Prediction] = []
    for fold in range(_FOLDS):
        inside = [doc for number, doc in enumerate(gold) if number % _FOLDS == fold]
        keys = {doc.key for doc in inside}
        outside = [doc for doc in gold if doc.key not in keys]
        tuned = tune_threshold(outside, _part(predictions, {doc.key for doc in outside}), canonical)
        kept += above_threshold(_part(predictions, keys), tuned.threshold)
    return _f1(gold, Predictions.of(kept, predictions.source), canonical)


def _part(predictions: Predictions, keys: Collection[DocumentKey]) -> Predictions:
    return Predictions.of((one for one in predictions if one.document_key in keys), predictions.source)


def _f1(gold: Sequence[Document], kept: Predictions, canonical: CanonicalId) -> float:
    return score_end_to_end(gold, predicted_documents(gold, kept), _PROTOCOL, canonical).f1


def above_threshold(predictions: Predictions, threshold: float) -> Predictions:
    """Return the predictions of a pipeline with that threshold: mentions with a lower score are left unlinked.

    >>> from onym.predictions.file import Prediction
    >>> one, other = ((("mesh:D1",), 0.9, 0),), ((("mesh:D2",), 0.4, 1),)
    >>> made = Predictions.of([Prediction("1", 0, 2, one), Prediction("1", 3, 5, other)], {"threshold": None})
    >>> [each.nil_reason for each in above_threshold(made, 0.5)], above_threshold(made, 0.5).source
    ([None, 'below-threshold'], {'threshold': 0.5})
    """
    kept = (one if one.answers and one.answers[0][1] >= threshold else _left_unlinked(one) for one in predictions)
    return Predictions.of(kept, predictions.source | {"threshold": threshold})


def _left_unlinked(one: Prediction) -> Prediction:
    return replace(one, nil_reason="below-threshold") if one.answers else one
