"""Evaluation of a linker on annotated mentions: figures by every protocol, confidence intervals, results by subgroup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from onym.datasets.overlap import corpus_document
from onym.evaluate.cases import Case, gold_cases
from onym.evaluate.confidence import ConfidenceFigures, confidence_figures
from onym.evaluate.coverage import Coverage, mention_coverage, require_covered
from onym.evaluate.metrics import Scores, gold_ranks, score
from onym.evaluate.protocols import PROTOCOLS, protocol_named
from onym.evaluate.significance import bootstrap_interval
from onym.evaluate.slices import Similarity, Training, slices_of
from onym.evaluate.task import EvaluationTask
from onym.outputs.predictions import DocumentNames, Predictions
from onym.text.similarity import NameSimilarity
from onym.types import Document

KS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)


@dataclass(frozen=True, slots=True)
class SliceScore:
    """Recall@1 of a subgroup of the cases, with its 95 % confidence interval."""

    name: str
    cases: int
    recall: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All figures of a linker on a split. `gold_ranks` holds the rank of gold of each case under `protocol`.

    `coverage` says how many of the mentions have a prediction; the others count as wrong. `confidence` judges the confidences
    of the answers, where they have some.
    """

    protocol: str
    scores: dict[str, Scores]
    low: float
    high: float
    slices: tuple[SliceScore, ...]
    coverage: Coverage
    left_out: dict[str, int]
    without_slices: dict[str, str]
    manifest: dict[str, Any]
    cases: tuple[Case, ...]
    gold_ranks: tuple[int | None, ...]
    confidence: ConfidenceFigures | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain values, without any mention."""
        return {
            "protocol": self.protocol,
            "recall_at_1": self.scores[self.protocol].recall[1],
            "low": self.low,
            "high": self.high,
            "coverage": self.coverage.as_dict(),
            "scores": {name: asdict(scores) for name, scores in self.scores.items()},
            "slices": [asdict(part) for part in self.slices],
            "left_out": self.left_out,
            "without_slices": self.without_slices,
            "confidence": self.confidence and asdict(self.confidence),
            "manifest": self.manifest,
        }


def evaluate(
    task: EvaluationTask,
    predictions: Predictions,
    *,
    protocol: str = "strict",
    similarity: NameSimilarity | None = None,
    allow_partial: bool = False,
) -> Evaluation:
    """Score predictions by every protocol; intervals and subgroups are those of `protocol`.

    Without `similarity`, the subgroups by string similarity are left out. Predictions that lack mentions, or repeat some, are
    refused unless `allow_partial` is set.
    """
    protocol_named(protocol)  # an unknown one is refused before the work
    task.require_same_kb(predictions.source)
    gold = list(task.dataset.documents(task.split))
    coverage = mention_coverage(gold, predictions)
    require_covered(coverage, task.title, allow_partial=allow_partial)
    cases = _cases(task, gold, predictions)
    ranks = gold_ranks(cases, protocol)
    low, high = _interval(cases, ranks)
    sliced = slices_of(
        cases, task.kb, training=training_of(task), similarity=closest_name_similarity(similarity) if similarity else None
    )
    return Evaluation(
        protocol=protocol,
        scores={each: score(cases, each, KS) for each in PROTOCOLS},
        low=low,
        high=high,
        slices=tuple(_slice_score(name, rows, cases, ranks) for name, rows in sliced.indices.items()),
        coverage=coverage,
        left_out=task.dropped,
        without_slices=sliced.left_out,
        manifest=task.manifest(predictions.source),
        cases=tuple(cases),
        gold_ranks=tuple(ranks),
        confidence=confidence_figures(cases, ranks, predictions, DocumentNames.of_documents(gold)),
    )


def predicted_cases(task: EvaluationTask, predictions: Predictions) -> list[Case]:
    """Return the cases of a split with their predicted answers; a mention without a prediction has none."""
    return _cases(task, list(task.dataset.documents(task.split)), predictions)


def _cases(task: EvaluationTask, gold: Sequence[Document], predictions: Predictions) -> list[Case]:
    answers = predictions.answers_to(DocumentNames.of_documents(gold))
    return gold_cases(gold, lambda key: answers.get(key, ()), task.resolver, is_decided=predictions.is_decided)


def training_of(task: EvaluationTask) -> Training | None:
    """Return what the train split teaches; None if there is none, or if it is the split that is scored."""
    if task.split == "train" or "train" not in task.dataset.splits:
        return None
    return Training.of(task.dataset.documents("train"), task.resolver.canonical)


def closest_name_similarity(similarity: NameSimilarity) -> Similarity:
    """Return the measure that subgroups need: the similarity of each surface to the most similar of its names."""

    def measure(surfaces: list[str], names: list[list[str]]) -> list[float]:
        left = [surface for surface, of_gold in zip(surfaces, names, strict=True) for _ in of_gold]
        values = iter(similarity.pairwise(left, [name for of_gold in names for name in of_gold]).tolist())
        return [max((next(values) for _ in of_gold), default=0.0) for of_gold in names]

    return measure


def document_groups(cases: Sequence[Case]) -> list[str]:
    """Return the document of the published corpus of each case: the groups that a bootstrap over documents draws.

    >>> from onym.types import Document
    >>> doc = Document("7.1", "fever", notes=(("document", "7"),))
    >>> document_groups([Case("7.1", frozenset({"a:1"}), ((),), document=doc)])
    ['7']
    """
    return [corpus_document(case.document) if case.document else case.document_id for case in cases]


def _interval(cases: Sequence[Case], ranks: Sequence[int | None]) -> tuple[float, float]:
    """Return the interval of recall@1, over documents: the mentions of one document are not independent."""
    return bootstrap_interval([rank == 1 for rank in ranks], groups=document_groups(cases))


def _slice_score(name: str, rows: list[int], cases: Sequence[Case], ranks: Sequence[int | None]) -> SliceScore:
    part = [ranks[row] for row in rows]
    low, high = _interval([cases[row] for row in rows], part)
    return SliceScore(name, len(rows), sum(rank == 1 for rank in part) / max(len(rows), 1), low, high)
