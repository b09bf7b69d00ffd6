"""Evaluation of a linker on annotated mentions: scores under every protocol, confidence intervals, results by subgroup.

If the predictions have confidences, their calibration is evaluated too (reliability diagram, risk-coverage curve). `compare`
tests the difference between two evaluations of the same cases for significance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np

from onym.calibrate import area_under_roc, expected_calibration_error, risk_coverage
from onym.datasets.overlap import corpus_document
from onym.errors import ConfigError
from onym.evaluate.cases import Case, gold_cases, key_of
from onym.evaluate.coverage import Coverage, mention_coverage, require_coverage
from onym.evaluate.metrics import PROTOCOLS, Scores, find_protocol, gold_ranks, score
from onym.evaluate.near_misses import NearMisses, find_near_misses
from onym.evaluate.significance import (
    AngelTTest,
    McNemar,
    PairedBootstrap,
    angel_t_test,
    bootstrap_interval,
    mcnemar_exact,
    paired_bootstrap,
)
from onym.evaluate.slices import Similarity, Training, slices_of
from onym.evaluate.task import EvaluationTask
from onym.outputs.predictions import DocumentNames, Predictions
from onym.text.similarity import NameSimilarity
from onym.types import Document

CONFIDENCE_BINS = 10
_CURVE_POINTS = 100  # maximum points of the risk-coverage curve
KS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
"""The values of k for which recall@k is computed."""


@dataclass(frozen=True, slots=True)
class ConfidenceBin:
    """An equal-size bin of answers: their number, mean confidence and accuracy."""

    answers: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class ConfidenceFigures:
    """Calibration metrics: ECE, AUROC (None if all answers are right or all wrong), reliability bins, risk-coverage curve."""

    answers: int
    ece: float
    auroc: float | None
    bins: tuple[ConfidenceBin, ...]
    curve: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, confidences: Sequence[float], outcomes: Sequence[bool]) -> ConfidenceFigures:
        """Evaluate confidences; `outcomes` says which answers were right.

        >>> ConfidenceFigures.of([0.9, 0.1], [True, False]).auroc
        1.0
        """
        said, right = np.array(confidences, dtype=np.float64), np.array(outcomes, dtype=np.float64)
        parts = np.array_split(np.argsort(said, kind="stable"), min(CONFIDENCE_BINS, len(said)))
        coverage, risk = risk_coverage(said, right)
        kept = np.unique(np.linspace(0, len(coverage) - 1, _CURVE_POINTS).round().astype(int))
        area = area_under_roc(said, right)
        return cls(
            answers=len(said),
            ece=expected_calibration_error(said, right),
            auroc=None if np.isnan(area) else area,
            bins=tuple(ConfidenceBin(len(part), float(said[part].mean()), float(right[part].mean())) for part in parts),
            curve=tuple(zip(coverage[kept].tolist(), risk[kept].tolist(), strict=True)),
        )


def confidence_figures(
    cases: Sequence[Case], ranks: Sequence[int | None], predictions: Predictions, names: DocumentNames
) -> ConfidenceFigures | None:
    """Evaluate the confidences of the cases that have a confidence; return None if there are no such cases."""
    said = {own: predictions.mentions[key].confidence for key, own in predictions.keys_to(names).items()}
    found = [(said.get(key_of(case, names)), rank == 1) for case, rank in zip(cases, ranks, strict=True)]
    judged = [(confidence, is_right) for confidence, is_right in found if confidence is not None]
    return ConfidenceFigures.of(*zip(*judged, strict=True)) if judged else None


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
    """All scores of a linker on a split. `gold_ranks` holds the rank of the gold concept of each case under `protocol`.

    `coverage` counts the mentions that have a prediction; mentions without a prediction count as wrong. `confidence` is None if
    the answers have no confidences. `near_misses` relates the wrong answers to the gold concepts; it is None if the KB has no
    hierarchy.
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
    near_misses: NearMisses | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as plain values, without any mention text."""
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
            **({"near_misses": self.near_misses.as_dict()} if self.near_misses else {}),
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
    """Score predictions under every protocol; confidence intervals and subgroups use `protocol`.

    Without `similarity`, the subgroups by string similarity are left out. Predictions with missing or repeated mentions are
    rejected unless `allow_partial` is set.
    """
    find_protocol(protocol)  # raise before scoring if the protocol is unknown
    task.require_same_kb(predictions.source)
    gold = task.gold()
    coverage = _coverage(task, gold, predictions)
    require_coverage(coverage, task.title, allow_partial=allow_partial)
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
        left_out=task.drop_counts,
        without_slices=sliced.left_out,
        manifest=task.manifest(predictions.source),
        cases=tuple(cases),
        gold_ranks=tuple(ranks),
        confidence=confidence_figures(cases, ranks, predictions, DocumentNames.of_documents(gold)),
        near_misses=find_near_misses(cases, ranks, task.kb),
    )


def make_cases(task: EvaluationTask, predictions: Predictions) -> list[Case]:
    """Return the cases of a split with their predicted answers; a mention without a prediction gets no answers."""
    return _cases(task, task.gold(), predictions)


def _coverage(task: EvaluationTask, gold: Sequence[Document], predictions: Predictions) -> Coverage:
    """Return the coverage of the scored mentions; predictions for mentions of unscored types do not count as `not_in_gold`."""
    own = mention_coverage(gold, predictions)
    if not task.types:
        return own
    whole = mention_coverage(task.dataset.documents(task.split), predictions)
    return replace(own, repeated=whole.repeated, not_in_gold=whole.not_in_gold)


def _cases(task: EvaluationTask, gold: Sequence[Document], predictions: Predictions) -> list[Case]:
    answers = predictions.answers_to(DocumentNames.of_documents(gold))
    return gold_cases(gold, lambda key: answers.get(key, ()), task.resolver, is_decided=predictions.is_decided)


def training_of(task: EvaluationTask) -> Training | None:
    """Return the mentions and concepts of the train split; None if it is missing or is itself being scored."""
    if task.split == "train" or "train" not in task.dataset.splits:
        return None
    return Training.of(task.dataset.documents("train"), task.resolver.canonical)


def closest_name_similarity(similarity: NameSimilarity) -> Similarity:
    """Return a function that computes the similarity between each surface and the most similar of its gold names."""

    def measure(surfaces: list[str], names: list[list[str]]) -> list[float]:
        left = [surface for surface, of_gold in zip(surfaces, names, strict=True) for _ in of_gold]
        values = iter(similarity.pairwise(left, [name for of_gold in names for name in of_gold]).tolist())
        return [max((next(values) for _ in of_gold), default=0.0) for of_gold in names]

    return measure


def document_groups(cases: Sequence[Case]) -> list[str]:
    """Return, for each case, the id of its document in the published corpus, as the group for bootstrapping over documents.

    Preparing a corpus may split a document into several.

    >>> from onym.types import Document
    >>> doc = Document("7.1", "fever", notes=(("document", "7"),))
    >>> document_groups([Case("7.1", frozenset({"a:1"}), ((),), document=doc)])
    ['7']
    """
    return [corpus_document(case.document) if case.document else case.document_id for case in cases]


def _interval(cases: Sequence[Case], ranks: Sequence[int | None]) -> tuple[float, float]:
    """Return the interval of recall@1, resampling documents because mentions of one document are not independent."""
    return bootstrap_interval([rank == 1 for rank in ranks], groups=document_groups(cases))


def _slice_score(name: str, rows: list[int], cases: Sequence[Case], ranks: Sequence[int | None]) -> SliceScore:
    part = [ranks[row] for row in rows]
    low, high = _interval([cases[row] for row in rows], part)
    return SliceScore(name, len(rows), sum(rank == 1 for rank in part) / max(len(rows), 1), low, high)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference in recall@1 between two systems under one protocol.

    `slices` maps each subgroup to its number of cases and both recalls. `coverage` holds the mention coverage of both systems.
    `types` are the annotated types that are scored; empty means all.
    """

    protocol: str
    cases: int
    first: float
    second: float
    coverage: tuple[Coverage, Coverage]
    bootstrap: PairedBootstrap
    mcnemar: McNemar
    slices: dict[str, tuple[int, float, float]]
    t_test: AngelTTest | None = None
    types: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values."""
        return asdict(self) | {"coverage": [each.as_dict() for each in self.coverage]}


def compare(first: Evaluation, second: Evaluation, *, with_t_test: bool = False) -> Comparison:
    """Compare two evaluations; raise ConfigError unless split, protocol and types are the same."""
    require_comparable(first, second)
    one, other = hits(first.gold_ranks), hits(second.gold_ranks)
    named = {part.name: part for part in second.slices}
    return Comparison(
        protocol=first.protocol,
        cases=len(one),
        first=sum(one) / max(len(one), 1),
        second=sum(other) / max(len(other), 1),
        coverage=(first.coverage, second.coverage),
        bootstrap=paired_bootstrap(one, other, groups=document_groups(first.cases)),
        mcnemar=mcnemar_exact(one, other),
        slices={p.name: (p.cases, p.recall, named[p.name].recall) for p in first.slices if p.name in named},
        t_test=angel_t_test(one, other) if with_t_test else None,
        types=tuple(first.manifest["types_scored"]),
    )


def hits(ranks: Sequence[int | None]) -> list[bool]:
    """Return for each case whether the gold concept is at rank 1.

    >>> hits([1, 2, None])
    [True, False, False]
    """
    return [rank == 1 for rank in ranks]


class Scored(Protocol):
    """Interface of evaluations that can be compared."""

    @property
    def protocol(self) -> str:
        """The name of the scoring protocol."""

    @property
    def manifest(self) -> dict[str, Any]:
        """All inputs and settings that the scores depend on."""


def require_comparable(first: Scored, second: Scored) -> None:
    """Raise ConfigError if two evaluations differ in protocol, dataset or annotated types."""
    for what, one, other in (
        ("protocols", first.protocol, second.protocol),
        ("datasets", first.manifest["dataset"], second.manifest["dataset"]),
        ("annotated types", first.manifest["types_scored"], second.manifest["types_scored"]),
    ):
        if one != other:
            raise ConfigError("compare-other", f"the evaluations have different {what}", fix="use the same options for both")
