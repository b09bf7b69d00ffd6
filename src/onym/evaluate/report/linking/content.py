"""The content of a linking report as plain values: shares from 0 to 1, counts, and text that may come from anywhere."""

from __future__ import annotations

from dataclasses import dataclass, field

from onym.evaluate.confidence import ConfidenceFigures
from onym.evaluate.examples import Example, Neighbour
from onym.evaluate.mistakes import Mistake, NamedConcepts
from onym.evaluate.published import PublishedFigure

DEFINITIONS: dict[str, str] = {
    "strict": "The first answer is right if it is the gold concept; where a mention means several concepts, only the whole set "
    "is right. Equal scores whose order the predictions do not call decided are a tie, and wrong.",
    "one-id": "The first answer is right if it is one concept that is among the gold ones; undecided ties are wrong.",
    "any-id": "An answer is a name. It is right if any concept of that name is a gold one: a name that several concepts "
    "share counts for all of them. Of a mention that was split into parts the first part counts.",
    "biosyn": "An answer is a name. It is right if any concept of that name is a gold one, for every part of a mention "
    "that was split into parts.",
}
"""For each protocol, what it counts as right."""


@dataclass(frozen=True, slots=True)
class Headline:
    """The figures of one protocol, over all cases and over those whose gold ids are in the KB."""

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
class Bin:
    """The cases of one bin of string similarity, as `0.0 to 0.2`, and how many of them are wrong."""

    label: str
    cases: int
    errors: int

    @property
    def accuracy(self) -> float:
        """The share of cases that are right; without any, 0."""
        return (self.cases - self.errors) / self.cases if self.cases else 0.0


@dataclass(frozen=True, slots=True)
class RecallPoint:
    """Recall among the first k answers, over all cases and over those whose gold ids are in the KB."""

    k: int
    recall: float
    in_kb_recall: float


@dataclass(frozen=True, slots=True)
class MistakeRow:
    """A frequent error; `gold_rank` is the best rank of gold, if any."""

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

    @classmethod
    def of(cls, mistake: Mistake) -> MistakeRow:
        """Return the row of a mistake; several names share one cell."""
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
    """A mention with its best candidates; `gold_rank` is the rank of gold, if any."""

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
    """Everything in a linking report. `headline` has a row for every protocol; `protocol` is the main one.

    `published` are figures of others. `coverage` is the note on mentions without a prediction, or with several. `left_out`
    counts what was not scored, by reason. `without_slices` gives for each missing slice the reason. `manifest` is what the
    figures depend on: names and values, mostly digests.
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
    bins: tuple[Bin, ...] = ()
    recall_curve: tuple[RecallPoint, ...] = ()
    confidence: ConfidenceFigures | None = None
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
        """The figures of the main protocol."""
        return next((row for row in self.headline if row.protocol == self.protocol), None)

    @property
    def definition(self) -> str:
        """What the main protocol counts as right."""
        return DEFINITIONS.get(self.protocol, "")


def _names(concepts: NamedConcepts) -> str:
    return "; ".join(concepts.names)


def _ids(concepts: NamedConcepts) -> str:
    return ", ".join(concepts.ids)
