"""What a report shows, as plain values: shares from 0 to 1, counts, and text that may come from anywhere."""

from __future__ import annotations

from dataclasses import dataclass, field

from onym.evaluate.examples import Example, Neighbour
from onym.evaluate.mistakes import Answer, Mistake

MEANS: dict[str, str] = {
    "strict": "An answer is right if it is the gold concept, alone at its score; where a mention means several concepts, "
    "only all of them together are right.",
    "one-id": "An answer is right if it is one concept, alone at its score, that is among the gold ones.",
    "any-id": "An answer is a name, and right if any concept of that name is among the gold ones: a name that several concepts "
    "share counts for all of them. Of a mention that was cut into parts the first part counts.",
    "biosyn": "An answer is a name, and right if any concept of that name is among the gold ones, for every part of a mention "
    "that was cut into parts.",
}
"""For each protocol, what it counts as right, in a sentence."""


@dataclass(frozen=True, slots=True)
class Headline:
    """The figures of one protocol, over all cases and over those whose gold is in the knowledge base."""

    protocol: str
    cases: int
    recall_at_1: float
    recall_at_5: float
    mean_average_precision: float
    reachable: int
    reachable_recall_at_1: float
    reachable_recall_at_5: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class SliceRow:
    """Recall@1 of a part of the cases, with its interval."""

    title: str
    definition: str
    cases: int
    recall: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bin:
    """The cases of one bin of likeness, as `0.0 to 0.2`, and how many of them are wrong."""

    label: str
    cases: int
    errors: int

    @property
    def accuracy(self) -> float:
        """The share of cases that are right; without any, 0."""
        return (self.cases - self.errors) / self.cases if self.cases else 0.0


@dataclass(frozen=True, slots=True)
class RecallPoint:
    """Recall among the first k answers, over all cases and over those within reach."""

    k: int
    recall: float
    reachable_recall: float


@dataclass(frozen=True, slots=True)
class MistakeRow:
    """A frequent error: names for people, ids in small print; `place` is the best one of the right answer, if any."""

    count: int
    surface: str = field(repr=False)
    gold: str = field(repr=False)
    gold_ids: str = field(repr=False)
    answered: str = field(repr=False)
    answered_ids: str = field(repr=False)
    runner_up: str = field(repr=False)
    runner_up_ids: str = field(repr=False)
    found: int
    place: int | None

    @classmethod
    def of(cls, mistake: Mistake) -> MistakeRow:
        """Return the row of a mistake; several names stand in one cell."""
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
            place=mistake.best_place,
        )


@dataclass(frozen=True, slots=True)
class NeighbourRow:
    """A candidate of an example: its number among the answers, its score, and whether it is the gold one."""

    number: int
    name: str = field(repr=False)
    ids: str = field(repr=False)
    score: float
    is_gold: bool

    @classmethod
    def of(cls, near: Neighbour) -> NeighbourRow:
        """Return the row of a candidate."""
        return cls(near.number, _names(near.answer), _ids(near.answer), near.score, near.is_gold)


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """A mention with its best candidates; `place` is that of the right answer, if any."""

    surface: str = field(repr=False)
    gold: str = field(repr=False)
    gold_ids: str = field(repr=False)
    is_reachable: bool
    place: int | None
    neighbours: tuple[NeighbourRow, ...]

    @classmethod
    def of(cls, example: Example) -> ExampleRow:
        """Return the row of an example."""
        return cls(
            surface=example.surface,
            gold=_names(example.gold),
            gold_ids=_ids(example.gold),
            is_reachable=example.is_reachable,
            place=example.place,
            neighbours=tuple(map(NeighbourRow.of, example.neighbours)),
        )


@dataclass(frozen=True, slots=True)
class ReportContent:
    """Everything that a report shows. `headline` has a row for every protocol; `protocol` is the one that was chosen.

    `kb` and the other names are words for people. `left_out` counts what was not judged, by reason. `without_slices` says of
    each slice that could not be made why. `manifest` is what the figures depend on: a name and a value, mostly a digest.
    """

    linker: str
    benchmark: str
    split: str
    protocol: str
    kb: str
    headline: tuple[Headline, ...]
    left_out: tuple[tuple[str, int], ...] = ()
    slices: tuple[SliceRow, ...] = ()
    without_slices: tuple[tuple[str, str], ...] = ()
    bins: tuple[Bin, ...] = ()
    recall_curve: tuple[RecallPoint, ...] = ()
    mistakes: tuple[MistakeRow, ...] = ()
    examples: tuple[ExampleRow, ...] = ()
    manifest: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        """What was measured on what.

        >>> ReportContent("exact", "bc5cdr", "test", "strict", "MeSH", ()).title
        'exact on bc5cdr (test)'
        """
        return f"{self.linker} on {self.benchmark} ({self.split})"

    @property
    def chosen(self) -> Headline | None:
        """The figures of the chosen protocol."""
        return next((row for row in self.headline if row.protocol == self.protocol), None)

    @property
    def means(self) -> str:
        """What the chosen protocol counts as right."""
        return MEANS.get(self.protocol, "")


def percent(share: float) -> str:
    """Return a share in percent, to one decimal.

    >>> percent(0.91349)
    '91.3'
    """
    return f"{100 * share:.1f}"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval in percent, or nothing.

    >>> interval(0.9, 0.925)
    '90.0–92.5'
    """
    return "" if low is None or high is None else f"{percent(low)}–{percent(high)}"


def _names(answer: Answer) -> str:
    return "; ".join(answer.names)


def _ids(answer: Answer) -> str:
    return ", ".join(answer.ids)
