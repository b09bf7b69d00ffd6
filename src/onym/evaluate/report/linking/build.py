"""From an evaluation to the content of its report."""

from __future__ import annotations

from typing import Any

from onym.evaluate.evaluation import Evaluation, SliceScore
from onym.evaluate.examples import examples_of
from onym.evaluate.metrics import Scores
from onym.evaluate.mistakes import common_mistakes
from onym.evaluate.report.linking.content import (
    Bin,
    ExampleRow,
    Headline,
    MistakeRow,
    RecallPoint,
    ReportContent,
    SliceRow,
)
from onym.evaluate.report.published import published_for
from onym.evaluate.report.values import flat
from onym.evaluate.slices import SIMILARITY_BINS, SLICES
from onym.kb import KnowledgeBase

MISTAKES = 25


def content_of(evaluation: Evaluation, kb: KnowledgeBase) -> ReportContent:
    """Return the content of a report; names of concepts come from the knowledge base."""
    manifest = evaluation.manifest
    return ReportContent(
        linker=linker_name(manifest["predictions"]),
        dataset=manifest["dataset"]["name"],
        split=manifest["dataset"]["split"],
        protocol=evaluation.protocol,
        kb=f"{len(kb):,} concepts, {len(kb.names):,} names",
        headline=tuple(_headline(scores, evaluation) for scores in evaluation.scores.values()),
        published=published_for(manifest, evaluation.protocol),
        coverage=evaluation.coverage.note,
        left_out=tuple(evaluation.left_out.items()),
        slices=tuple(_slice_row(part) for part in evaluation.slices),
        without_slices=tuple((SLICES[name].title, reason) for name, reason in evaluation.without_slices.items()),
        bins=tuple(_bin(part) for part in evaluation.slices if part.name in SIMILARITY_BINS),
        recall_curve=_curve(evaluation.scores[evaluation.protocol]),
        confidence=evaluation.confidence,
        mistakes=tuple(map(MistakeRow.of, common_mistakes(evaluation.cases, evaluation.gold_ranks, kb, MISTAKES))),
        examples=tuple(map(ExampleRow.of, examples_of(evaluation.cases, evaluation.gold_ranks, kb))),
        manifest=tuple(flat(manifest)),
    )


def linker_name(source: dict[str, Any]) -> str:
    """Return the name of the linker that made the predictions.

    >>> linker_name({"linker": {"linker": "exact"}})
    'exact'
    """
    linker = source.get("linker")
    return str(linker.get("linker", "unknown")) if isinstance(linker, dict) else "unknown"


def _headline(scores: Scores, evaluation: Evaluation) -> Headline:
    is_main = scores.protocol == evaluation.protocol
    return Headline(
        protocol=scores.protocol,
        cases=scores.cases,
        recall_at_1=scores.recall[1],
        recall_at_5=scores.recall[5],
        mean_average_precision=scores.mean_average_precision,
        in_kb=scores.in_kb,
        in_kb_recall_at_1=scores.in_kb_recall[1],
        in_kb_recall_at_5=scores.in_kb_recall[5],
        low=evaluation.low if is_main else None,
        high=evaluation.high if is_main else None,
    )


def _slice_row(part: SliceScore) -> SliceRow:
    own = SLICES[part.name]
    return SliceRow(own.title, own.definition, part.cases, part.recall, part.low, part.high)


def _bin(part: SliceScore) -> Bin:
    label = SLICES[part.name].title.removeprefix("Similarity ")
    return Bin(label, part.cases, part.cases - round(part.recall * part.cases))


def _curve(scores: Scores) -> tuple[RecallPoint, ...]:
    return tuple(RecallPoint(k, recall, scores.in_kb_recall[k]) for k, recall in scores.recall.items())
