"""Near misses: wrong answers that are related to a gold concept in the hierarchy of the knowledge base.

The relation is that of the nearest pair of an answered and a gold concept. Walks stay within one source, and leave out the
relations that close a cycle, as all walks over a hierarchy do. Scores do not depend on it: a near miss is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

from onym.evaluate.cases import Case
from onym.kb import KnowledgeBase
from onym.types import ParentKind

PARTLY_RIGHT, PARENT, CHILD, MAPPED, SIBLING = "partly right", "parent", "child", "mapped", "sibling"
FARTHER, APART, NOT_IN_KB, NO_ANSWER = "farther", "apart", "not in the KB", "no answer"
RELATIONS: dict[str, str] = {
    PARTLY_RIGHT: "A gold concept is among the answers: an unresolved tie, or some of a composite mention.",
    PARENT: "The answer is a parent of a gold concept.",
    CHILD: "The answer is a child of a gold concept.",
    MAPPED: "One is a supplementary record of MeSH, and the other the heading that it is mapped to.",
    SIBLING: "The answer and a gold concept have a parent in common.",
    FARTHER: "The answer is farther above or below a gold concept, or they have a farther ancestor in common.",
    APART: "No source connects the answer with a gold concept.",
    NOT_IN_KB: "No gold concept, or no answered concept, is in the knowledge base.",
    NO_ANSWER: "The system gave no answer.",
}
"""How a wrong answer is related to the gold concepts, nearest first, with definitions."""
_ORDER = {relation: number for number, relation in enumerate(RELATIONS)}
_OF_STEPS = {(0, 0): PARTLY_RIGHT, (0, 1): PARENT, (1, 0): CHILD, (1, 1): SIBLING}


@dataclass(frozen=True, slots=True)
class Nearness:
    """How a wrong answer is related to the gold concepts: a key of `RELATIONS`; for `farther`, also the number of steps.

    >>> Nearness("farther", 4).label
    'farther, 4 steps'
    """

    relation: str
    steps: int | None = None

    @property
    def label(self) -> str:
        """The relation as shown to users."""
        return self.relation if self.steps is None else f"{self.relation}, {self.steps} steps"

    @property
    def order(self) -> tuple[int, int]:
        """The key by which the nearest is smallest."""
        return _ORDER[self.relation], self.steps or 0


@dataclass(frozen=True, slots=True)
class NearMisses:
    """The number of wrong answers of each relation. `steps` counts the `farther` ones by their number of steps."""

    counts: dict[str, int]
    steps: dict[int, int]

    @classmethod
    def of(cls, found: Iterable[Nearness]) -> NearMisses:
        """Count wrong answers.

        >>> NearMisses.of([Nearness("parent"), Nearness("farther", 3)]).counts["parent"]
        1
        """
        found = list(found)
        counts = Counter(each.relation for each in found)
        steps = Counter(each.steps for each in found if each.steps is not None)
        return cls({relation: counts[relation] for relation in RELATIONS}, dict(sorted(steps.items())))

    @property
    def total(self) -> int:
        """The number of errors."""
        return sum(self.counts.values())

    @property
    def rows(self) -> list[tuple[str, str, int, float]]:
        """The relations that occur: relation, definition, number of errors, and their share of all errors."""
        return [
            (self._title(relation), RELATIONS[relation], count, count / self.total)
            for relation, count in self.counts.items()
            if count
        ]

    def _title(self, relation: str) -> str:
        if relation != FARTHER:
            return relation
        return f"{FARTHER} (median {median_low(Counter(self.steps).elements())} steps)"

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        steps = {str(steps): count for steps, count in self.steps.items()}
        return {"errors": self.total, "relations": self.counts, "farther_steps": steps}


_Parent = tuple[int, ParentKind, int]  # row, kind, source


class Neighbourhood:
    """Relates concepts of a knowledge base, given by their ids; what it reads of the hierarchy is cached.

    >>> from onym.kb import KnowledgeBase
    >>> Neighbourhood(KnowledgeBase.open(getfixture("tiny_kb"))).relate(["mesh:D005334"], ["mesh:D006973"]).relation
    'apart'
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._rows: dict[str, tuple[int, ...]] = {}
        self._parents: dict[int, tuple[_Parent, ...]] = {}
        self._steps: dict[tuple[int, int], dict[int, int]] = {}

    @classmethod
    def open(cls, kb: KnowledgeBase) -> Neighbourhood | None:
        """Return None if the knowledge base has no hierarchy."""
        return None if kb.hierarchy.is_empty else cls(kb)

    def relate(self, answered: Iterable[str], gold: Iterable[str]) -> Nearness:
        """Return the relation of the nearest pair of an answered and a gold concept."""
        answered = list(answered)
        if not answered:
            return Nearness(NO_ANSWER)
        golds = self._find_rows(gold)
        found = (self._relate_pair(one, other) for one in self._find_rows(answered) for other in golds)
        return min(found, key=lambda each: each.order, default=Nearness(NOT_IN_KB))

    def _find_rows(self, ids: Iterable[str]) -> list[int]:
        rows: list[int] = []
        for concept_id in ids:
            if concept_id not in self._rows:
                self._rows[concept_id] = self._kb.concepts_with_id(concept_id)
            rows += self._rows[concept_id]
        return rows

    def _relate_pair(self, answer: int, gold: int) -> Nearness:
        sources = {source for row in (answer, gold) for _, _, source in self._read_parents(row)}
        found = (self._relate_within(answer, gold, source) for source in sources)
        return min((self._relate_outside(answer, gold), *found), key=lambda each: each.order)

    def _relate_outside(self, answer: int, gold: int) -> Nearness:
        """Relate two concepts without a walk: equal, mapped, or apart."""
        if answer == gold:
            return Nearness(PARTLY_RIGHT)
        pairs = ((answer, gold), (gold, answer))
        is_mapped = any((high, ParentKind.MAPPED_TO) == each[:2] for low, high in pairs for each in self._read_parents(low))
        return Nearness(MAPPED if is_mapped else APART)

    def _relate_within(self, answer: int, gold: int, source: int) -> Nearness:
        """Relate two concepts through their nearest common ancestor in one source."""
        above_answer, above_gold = self._count_steps(answer, source), self._count_steps(gold, source)
        shared = ((above_answer[row], above_gold[row]) for row in above_answer.keys() & above_gold.keys())
        found = (Nearness(_OF_STEPS[both]) if both in _OF_STEPS else Nearness(FARTHER, sum(both)) for both in shared)
        return min(found, key=lambda each: each.order, default=Nearness(APART))

    def _count_steps(self, row: int, source: int) -> dict[int, int]:
        """Return the concept itself and all above it in one source, with the number of steps to each."""
        if (row, source) not in self._steps:
            found, level, steps = {row: 0}, {row}, 0
            while level:
                steps += 1
                level = {parent for each in level for parent in self._broader(each, source)} - found.keys()
                found |= dict.fromkeys(level, steps)
            self._steps[row, source] = found
        return self._steps[row, source]

    def _broader(self, row: int, source: int) -> list[int]:
        return [high for high, kind, own in self._read_parents(row) if own == source and kind != ParentKind.MAPPED_TO]

    def _read_parents(self, row: int) -> tuple[_Parent, ...]:
        if row not in self._parents:
            self._parents[row] = tuple(self._kb.hierarchy.iter_parents(row))
        return self._parents[row]


def find_near_misses(cases: Sequence[Case], ranks: Sequence[int | None], kb: KnowledgeBase) -> NearMisses | None:
    """Relate the answers of all cases with a rank of gold other than 1; None if the knowledge base has no hierarchy."""
    near = Neighbourhood.open(kb)
    if near is None:
        return None
    wrong = (case for case, rank in zip(cases, ranks, strict=True) if rank != 1)
    return NearMisses.of(near.relate(case.answer_ids(), case.gold) for case in wrong)
