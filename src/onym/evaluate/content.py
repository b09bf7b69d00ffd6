"""The content of a linking report as plain values: shares from 0 to 1, counts, and text that is not yet escaped.

Also holds the formatting helpers that all reports share: percentages, intervals, and nested values as rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from onym.evaluate.evaluation import ConfidenceFigures, Evaluation, SliceScore
from onym.evaluate.metrics import Scores
from onym.evaluate.mistakes import Example, Mistake, NamedConcepts, Neighbour, common_mistakes, examples_of
from onym.evaluate.near_misses import NearMisses
from onym.evaluate.published import PublishedFigure, find_published_for
from onym.evaluate.slices import SLICES
from onym.evaluate.task import describe_split
from onym.kb import KnowledgeBase

DEFINITIONS: dict[str, str] = {
    "strict": "The first answer is right if it is the gold concept; a mention with several gold concepts needs the whole set. "
    "A tie for the first rank is wrong, unless the predictions define the order of equal scores.",
    "one-id": "The first answer is right if it is a single concept and one of the gold concepts; unresolved ties are wrong.",
    "any-id": "An answer is a name. It is right if any concept with that name is a gold concept: a name that several concepts "
    "share counts for all of them. If a mention was split into parts, only the first part is scored.",
    "biosyn": "An answer is a name. It is right if any concept with that name is a gold concept. If a mention was split into "
    "parts, all parts must be right.",
}
"""For each protocol, when it counts an answer as right."""
MISTAKES = 25
"""The number of most frequent errors in the report."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A share with its 95 % confidence interval, over `n` items."""

    label: str
    n: int
    share: float
    low: float
    high: float


def percent(share: float) -> str:
    """Return a share in percent, to one decimal.

    >>> percent(0.91349)
    '91.3'
    """
    return f"{100 * share:.1f}"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval in percent, or an empty string if a bound is None.

    >>> interval(0.9, 0.925)
    '90.0–92.5'
    """
    return "" if low is None or high is None else f"{percent(low)}–{percent(high)}"


def share_cells(shares: Iterable[tuple[float, tuple[float, float]]]) -> list[str]:
    """Return two cells for each share: the share and its interval, in percent.

    >>> share_cells([(0.8, (0.75, 0.85))])
    ['80.0', '75.0–85.0']
    """
    return [cell for share, bounds in shares for cell in (percent(share), interval(*bounds))]


def flat(value: dict[str, Any], path: str = "") -> list[tuple[str, str]]:
    """Flatten nested dicts into a list of (dotted name, value) rows.

    >>> flat({"kb": {"digest": "ab"}, "onym": "1"})
    [('kb.digest', 'ab'), ('onym', '1')]
    """
    rows = []
    for key, member in value.items():
        name = f"{path}{key}"
        rows += flat(member, f"{name}.") if isinstance(member, dict) else [(name, str(member))]
    return rows


@dataclass(frozen=True, slots=True)
class Headline:
    """The scores of one protocol, over all cases and over the cases whose gold ids are in the KB."""

    protocol: str
    cases: int
    recall_at_1: float
    recall_at_5: float
    mean_average_precision: float
    in_kb: int
    in_kb_recall_at_1: float
    in_kb_recall_at_5: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class SliceRow:
    """Recall@1 of a subgroup of the cases, with its confidence interval."""

    title: str
    definition: str
    cases: int
    recall: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RecallPoint:
    """Recall among the first k answers, over all cases and over the cases whose gold ids are in the KB."""

    k: int
    recall: float
    in_kb_recall: float


@dataclass(frozen=True, slots=True)
class MistakeRow:
    """A frequent error; `gold_rank` is the best rank of the gold concept, or None if it was never predicted.

    `relation` of the answer to the gold concept is empty if the knowledge base has no hierarchy.
    """

    count: int
    surface: str = field(repr=False)
    gold: str = field(repr=False)
    gold_ids: str = field(repr=False)
    answered: str = field(repr=False)
    answered_ids: str = field(repr=False)
    runner_up: str = field(repr=False)
    runner_up_ids: str = field(repr=False)
    found: int
    gold_rank: int | None
    relation: str = ""

    @classmethod
    def of(cls, mistake: Mistake) -> MistakeRow:
        """Return the table row of a mistake; several names are joined in one cell."""
        return cls(
            count=mistake.count,
            surface=mistake.surface,
            gold=_names(mistake.gold),
            gold_ids=_ids(mistake.gold),
            answered=_names(mistake.answered),
            answered_ids=_ids(mistake.answered),
            runner_up=_names(mistake.runner_up),
            runner_up_ids=_ids(mistake.runner_up),
            found=mistake.found,
            gold_rank=mistake.best_gold_rank,
            relation=mistake.nearness.label if mistake.nearness else "",
        )


@dataclass(frozen=True, slots=True)
class NeighbourRow:
    """A candidate of an example: its rank, its score, and whether it is a gold concept."""

    rank: int
    name: str = field(repr=False)
    ids: str = field(repr=False)
    score: float
    is_gold: bool

    @classmethod
    def of(cls, near: Neighbour) -> NeighbourRow:
        """Return the row of a candidate."""
        return cls(near.rank, _names(near.concepts), _ids(near.concepts), near.score, near.is_gold)


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """A mention with its best candidates; `gold_rank` is the rank of the gold concept, or None if it was not predicted."""

    surface: str = field(repr=False)
    gold: str = field(repr=False)
    gold_ids: str = field(repr=False)
    is_in_kb: bool
    gold_rank: int | None
    neighbours: tuple[NeighbourRow, ...]

    @classmethod
    def of(cls, example: Example) -> ExampleRow:
        """Return the row of an example."""
        return cls(
            surface=example.surface,
            gold=_names(example.gold),
            gold_ids=_ids(example.gold),
            is_in_kb=example.is_in_kb,
            gold_rank=example.gold_rank,
            neighbours=tuple(map(NeighbourRow.of, example.neighbours)),
        )


@dataclass(frozen=True, slots=True)
class ReportContent:
    """Everything in a linking report. `headline` has a row for every protocol; `protocol` is the main protocol.

    `published` holds published scores of other systems. `coverage` is a note on mentions that have no prediction or several.
    `left_out` counts the mentions not scored, by reason. `without_slices` gives the reason for each missing slice. `manifest`
    lists all inputs and settings that the scores depend on as (name, value) rows, mostly digests. `near_misses` is None if the
    knowledge base has no hierarchy.
    """

    linker: str
    dataset: str
    split: str
    protocol: str
    kb: str
    headline: tuple[Headline, ...]
    published: tuple[PublishedFigure, ...] = ()
    coverage: str = ""
    left_out: tuple[tuple[str, int], ...] = ()
    slices: tuple[SliceRow, ...] = ()
    without_slices: tuple[tuple[str, str], ...] = ()
    recall_curve: tuple[RecallPoint, ...] = ()
    confidence: ConfidenceFigures | None = None
    near_misses: NearMisses | None = None
    mistakes: tuple[MistakeRow, ...] = ()
    examples: tuple[ExampleRow, ...] = ()
    manifest: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        """The linker and the dataset.

        >>> ReportContent("exact", "bc5cdr", "test", "strict", "MeSH", ()).title
        'exact on bc5cdr (test)'
        """
        return f"{self.linker} on {self.dataset} ({self.split})"

    @property
    def main(self) -> Headline | None:
        """The scores of the main protocol."""
        return next((row for row in self.headline if row.protocol == self.protocol), None)

    @property
    def definition(self) -> str:
        """A sentence that says when the main protocol counts an answer as right."""
        return DEFINITIONS.get(self.protocol, "")


def _names(concepts: NamedConcepts) -> str:
    return "; ".join(concepts.names)


def _ids(concepts: NamedConcepts) -> str:
    return ", ".join(concepts.ids)


def content_of(evaluation: Evaluation, kb: KnowledgeBase) -> ReportContent:
    """Return the content of an evaluation's report; concept names are looked up in the knowledge base."""
    manifest = evaluation.manifest
    return ReportContent(
        linker=linker_name(manifest["predictions"]),
        dataset=manifest["dataset"]["name"],
        split=describe_split(manifest),
        protocol=evaluation.protocol,
        kb=f"{len(kb):,} concepts, {len(kb.names):,} names",
        headline=tuple(_headline(scores, evaluation) for scores in evaluation.scores.values()),
        published=find_published_for(manifest, evaluation.protocol),
        coverage=evaluation.coverage.note,
        left_out=tuple(evaluation.left_out.items()),
        slices=tuple(_slice_row(part) for part in evaluation.slices),
        without_slices=tuple((SLICES[name].title, reason) for name, reason in evaluation.without_slices.items()),
        recall_curve=_curve(evaluation.scores[evaluation.protocol]),
        confidence=evaluation.confidence,
        near_misses=evaluation.near_misses,
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


def _curve(scores: Scores) -> tuple[RecallPoint, ...]:
    return tuple(RecallPoint(k, recall, scores.in_kb_recall[k]) for k, recall in scores.recall.items())
