"""End-to-end figures with 95 % confidence intervals: a percentile bootstrap over documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.datasets.overlap import corpus_document
from onym.evaluate.cases import CanonicalId
from onym.evaluate.end_to_end.protocols import END_TO_END, EndToEndScores, score_end_to_end
from onym.evaluate.significance import drawn_sums, percentiles
from onym.types import Document

REPLICATES = 2_000
Interval = tuple[float, float]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScoresWithIntervals:
    """The scores of one protocol, and the confidence intervals of precision, recall and F1."""

    scores: EndToEndScores
    precision: Interval
    recall: Interval
    f1: Interval

    @property
    def shares(self) -> dict[str, tuple[float, Interval]]:
        """Precision, recall and F1, each with its interval."""
        scores = self.scores
        return {
            "precision": (scores.precision, self.precision),
            "recall": (scores.recall, self.recall),
            "F1": (scores.f1, self.f1),
        }

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        values: dict[str, Any] = {}
        for name, (share, interval) in self.shares.items():
            values |= {name.lower(): share, f"{name.lower()}_interval": list(interval)}
        scores = self.scores
        return {**values, "gold": scores.gold, "predicted": scores.predicted, "right": scores.right, "found": scores.found}


def score_all(
    gold: Sequence[Document], predicted: Sequence[Document], canonical: CanonicalId = str
) -> dict[str, ScoresWithIntervals]:
    """Score predicted documents by every end-to-end protocol; `predicted` has the documents of `gold`, in the same order.

    >>> from onym.types import Mention
    >>> doc = Document("1", "high fever", (Mention(5, 10, "fever", ("mesh:D005334",)),))
    >>> score_all([doc], [doc])["bhowmik-strict"].f1
    (1.0, 1.0)
    """
    return {name: score_with_intervals(gold, predicted, name, canonical) for name in END_TO_END}


def score_with_intervals(
    gold: Sequence[Document], predicted: Sequence[Document], name: str, canonical: CanonicalId = str
) -> ScoresWithIntervals:
    """Score predicted documents by one protocol, with confidence intervals."""
    scores = score_end_to_end(gold, predicted, name, canonical)
    articles: dict[str, tuple[list[Document], list[Document]]] = defaultdict(lambda: ([], []))
    for gold_doc, predicted_doc in zip(gold, predicted, strict=True):
        of_gold, of_predicted = articles[corpus_document(gold_doc)]
        of_gold.append(gold_doc)
        of_predicted.append(predicted_doc)
    counts = [_counts(score_end_to_end(*both, name, canonical)) for both in articles.values()]
    return ScoresWithIntervals(scores, *bootstrap_intervals(np.array(counts, dtype=np.float64).reshape(-1, 4)))


def _counts(scores: EndToEndScores) -> tuple[float, float, float, float]:
    return scores.right, scores.predicted, scores.found, scores.gold


def bootstrap_intervals(counts: _Floats, replicates: int = REPLICATES, seed: int = 0) -> tuple[Interval, Interval, Interval]:
    """Return the intervals of precision, recall and F1. *Shape:* `counts` is (documents, right predicted found gold).

    Without documents nothing is known: from 0 to 1.

    >>> bootstrap_intervals(np.array([[1.0, 1.0, 1.0, 2.0]]))[:2]
    ((1.0, 1.0), (0.5, 0.5))
    """
    if not len(counts):
        return (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)
    right, predicted, found, gold = drawn_sums(counts, replicates, np.random.default_rng(seed)).T
    precision, recall = right / np.maximum(predicted, 1), found / np.maximum(gold, 1)
    f1 = 2 * precision * recall / np.where(precision + recall > 0, precision + recall, 1)
    return percentiles(precision), percentiles(recall), percentiles(f1)
