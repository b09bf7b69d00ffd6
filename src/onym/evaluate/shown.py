"""An evaluation as the plain values that a report shows."""

from __future__ import annotations

from typing import Any

from onym.evaluate.evaluation import Evaluation, SliceScore
from onym.evaluate.examples import examples_of
from onym.evaluate.metrics import Scores
from onym.evaluate.mistakes import most_frequent_mistakes
from onym.evaluate.report import Bin, ExampleRow, Headline, MistakeRow, RecallPoint, ReportContent, SliceRow
from onym.evaluate.slices import SIMILARITY_BINS, SLICES
from onym.kb import KnowledgeBase

MISTAKES = 25


def content_of(evaluation: Evaluation, kb: KnowledgeBase) -> ReportContent:
    """Return what to show of an evaluation; names of concepts come from the knowledge base."""
    manifest = evaluation.manifest
    return ReportContent(
        linker=linker_name(manifest["predictions"]),
        benchmark=manifest["benchmark"]["name"],
        split=manifest["benchmark"]["split"],
        protocol=evaluation.protocol,
        kb=f"{len(kb):,} concepts, {len(kb.names):,} names",
        headline=tuple(_headline(scores, evaluation) for scores in evaluation.scores.values()),
        left_out=tuple(evaluation.left_out.items()),
        slices=tuple(_slice_row(part) for part in evaluation.slices),
        without_slices=tuple((SLICES[name].title, reason) for name, reason in evaluation.without_slices.items()),
        bins=tuple(_bin(part) for part in evaluation.slices if part.name in SIMILARITY_BINS),
        recall_curve=_curve(evaluation.scores[evaluation.protocol]),
        mistakes=tuple(map(MistakeRow.of, most_frequent_mistakes(evaluation.cases, evaluation.places, kb, MISTAKES))),
        examples=tuple(map(ExampleRow.of, examples_of(evaluation.cases, evaluation.places, kb))),
        manifest=tuple(flat(manifest)),
    )


def linker_name(source: dict[str, Any]) -> str:
    """Return the name of the linker that predictions say they came from.

    >>> linker_name({"linker": {"linker": "exact"}})
    'exact'
    """
    linker = source.get("linker")
    return str(linker.get("linker", "unknown")) if isinstance(linker, dict) else "unknown"


def flat(value: dict[str, Any], path: str = "") -> list[tuple[str, str]]:
    """Return nested values as one list of names and values.

    >>> flat({"kb": {"digest": "ab"}, "onym": "1"})
    [('kb.digest', 'ab'), ('onym', '1')]
    """
    rows = []
    for key, member in value.items():
        name = f"{path}{key}"
        rows += flat(member, f"{name}.") if isinstance(member, dict) else [(name, str(member))]
    return rows


def _headline(scores: Scores, evaluation: Evaluation) -> Headline:
    is_chosen = scores.protocol == evaluation.protocol
    return Headline(
        protocol=scores.protocol,
        cases=scores.cases,
        recall_at_1=scores.recall[1],
        recall_at_5=scores.recall[5],
        mean_average_precision=scores.mean_average_precision,
        reachable=scores.reachable,
        reachable_recall_at_1=scores.reachable_recall[1],
        reachable_recall_at_5=scores.reachable_recall[5],
        low=evaluation.low if is_chosen else None,
        high=evaluation.high if is_chosen else None,
    )


def _slice_row(part: SliceScore) -> SliceRow:
    known = SLICES[part.name]
    return SliceRow(known.title, known.definition, part.cases, part.recall, part.low, part.high)


def _bin(part: SliceScore) -> Bin:
    label = SLICES[part.name].title.removeprefix("Similarity ")
    return Bin(label, part.cases, part.cases - round(part.recall * part.cases))


def _curve(scores: Scores) -> tuple[RecallPoint, ...]:
    return tuple(RecallPoint(k, recall, scores.reachable_recall[k]) for k, recall in scores.recall.items())
