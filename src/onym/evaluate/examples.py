"""Examples: a few mentions by chance, some right and some wrong, each with its nearest concepts and their scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from onym.evaluate.cases import Case, Ids
from onym.evaluate.mistakes import Answer, named_answer, surface_of
from onym.kb import KnowledgeBase
from onym.text.normal import normal_name

OF_EACH = 6
NEIGHBOURS = 5


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A candidate: its number in the order of the answers, from 1, its score, and whether it is, in part at least, the gold."""

    number: int
    answer: Answer = field(repr=False)
    score: float
    is_gold: bool


@dataclass(frozen=True, slots=True)
class Example:
    """A mention, what it means, and the best candidates; where the gold one stands further down, it comes after them.

    `place` is that of the right answer under the protocol, or None where there is none.
    """

    surface: str = field(repr=False)
    gold: Answer = field(repr=False)
    is_reachable: bool
    place: int | None
    neighbours: tuple[Neighbour, ...]

    @property
    def is_right(self) -> bool:
        """True where the right answer stands first."""
        return self.place == 1


def examples_of(
    cases: Sequence[Case], places: Sequence[int | None], kb: KnowledgeBase, of_each: int = OF_EACH, seed: int = 0
) -> list[Example]:
    """Draw up to `of_each` mentions that are right, and then as many that are wrong; the same mention is drawn once.

    Drawn are mentions that have candidates and were not cut into parts. Where all scores are the same there are no examples:
    nothing is nearer than anything else.

    >>> from onym.types import Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> ranking = ((frozenset({"mesh:D005334"}),), (frozenset({"mesh:D006973"}),))
    >>> case = Case("1", frozenset({"mesh:D006973"}), (ranking,), scores=((0.9, 0.5),), mentions=(Mention(0, 3, "hot"),))
    >>> [example] = examples_of([case], [2], kb)
    >>> [(each.answer.names, each.score, each.is_gold) for each in example.neighbours]
    [(('Fever',), 0.9, False), (('Hypertension',), 0.5, True)]
    """
    drawable = [row for row, case in enumerate(cases) if len(case.mentions) == 1 and case.scores and case.scores[0]]
    if len({score for row in drawable for score in cases[row].scores[0]}) < 2:
        return []
    order = [drawable[place] for place in np.random.default_rng(seed).permutation(len(drawable)).tolist()]
    seen: dict[tuple[str, Ids, bool], int] = {}
    for row in order:
        seen.setdefault((normal_name(surface_of(cases[row])), cases[row].gold, places[row] == 1), row)
    right = [row for row in seen.values() if places[row] == 1]
    wrong = [row for row in seen.values() if places[row] != 1]
    return [_example(cases[row], places[row], kb) for row in right[:of_each] + wrong[:of_each]]


def _example(case: Case, place: int | None, kb: KnowledgeBase) -> Example:
    answers = list(enumerate(_answers(case), 1))
    further = next((each for each in answers[NEIGHBOURS:] if each[1][0] & case.gold), None)
    is_among = any(ids & case.gold for _, (ids, _) in answers[:NEIGHBOURS])
    shown = answers[:NEIGHBOURS] + ([further] if further and not is_among else [])
    return Example(
        surface=surface_of(case),
        gold=named_answer(sorted(case.gold), kb),
        is_reachable=case.is_reachable,
        place=place,
        neighbours=tuple(
            Neighbour(number, named_answer(sorted(ids), kb), score, bool(ids & case.gold)) for number, (ids, score) in shown
        ),
    )


def _answers(case: Case) -> Iterator[tuple[Ids, float]]:
    """Yield each answer with its score, best first."""
    for rank, score in zip(case.rankings[0], case.scores[0], strict=True):
        yield from ((ids, score) for ids in rank)
