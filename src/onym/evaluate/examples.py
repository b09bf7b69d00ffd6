"""Random examples: a few right and a few wrong mentions, each with its best candidates and their scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from onym.evaluate.cases import Case, Ids
from onym.evaluate.mistakes import NamedConcepts, surface_of
from onym.kb import KnowledgeBase
from onym.text.normal import normal_name

OF_EACH = 6
NEIGHBOURS = 5


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A candidate: its rank from 1, its score, and whether it is a gold concept."""

    rank: int
    concepts: NamedConcepts = field(repr=False)
    score: float
    is_gold: bool


@dataclass(frozen=True, slots=True)
class Example:
    """A mention, its gold concepts, and the best candidates; a gold candidate further down the ranking is added at the end.

    `gold_rank` is the rank of gold under the protocol, or None where no answer is right.
    """

    surface: str = field(repr=False)
    gold: NamedConcepts = field(repr=False)
    is_in_kb: bool
    gold_rank: int | None
    neighbours: tuple[Neighbour, ...]

    @property
    def is_right(self) -> bool:
        """True where gold is at rank 1."""
        return self.gold_rank == 1


def examples_of(
    cases: Sequence[Case], ranks: Sequence[int | None], kb: KnowledgeBase, of_each: int = OF_EACH, seed: int = 0
) -> list[Example]:
    """Draw up to `of_each` mentions that are right, and as many that are wrong; the same mention is drawn once.

    Only mentions with candidates that were not split into parts are drawn. Where all scores are the same there are no examples,
    since the candidates are not ranked.

    >>> from onym.types import Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> ranking = ((frozenset({"mesh:D005334"}),), (frozenset({"mesh:D006973"}),))
    >>> case = Case("1", frozenset({"mesh:D006973"}), (ranking,), scores=((0.9, 0.5),), mentions=(Mention(0, 3, "hot"),))
    >>> [example] = examples_of([case], [2], kb)
    >>> [(each.concepts.names, each.score, each.is_gold) for each in example.neighbours]
    [(('Fever',), 0.9, False), (('Hypertension',), 0.5, True)]
    """
    drawable = [row for row, case in enumerate(cases) if len(case.mentions) == 1 and case.scores and case.scores[0]]
    if len({score for row in drawable for score in cases[row].scores[0]}) < 2:
        return []
    order = [drawable[index] for index in np.random.default_rng(seed).permutation(len(drawable)).tolist()]
    seen: dict[tuple[str, Ids, bool], int] = {}
    for row in order:
        seen.setdefault((normal_name(surface_of(cases[row])), cases[row].gold, ranks[row] == 1), row)
    right = [row for row in seen.values() if ranks[row] == 1]
    wrong = [row for row in seen.values() if ranks[row] != 1]
    return [_example(cases[row], ranks[row], kb) for row in right[:of_each] + wrong[:of_each]]


def _example(case: Case, gold_rank: int | None, kb: KnowledgeBase) -> Example:
    answers = list(enumerate(_answers(case), 1))
    further = next((each for each in answers[NEIGHBOURS:] if each[1][0] & case.gold), None)
    is_among = any(ids & case.gold for _, (ids, _) in answers[:NEIGHBOURS])
    best = answers[:NEIGHBOURS] + ([further] if further and not is_among else [])
    return Example(
        surface=surface_of(case),
        gold=NamedConcepts.of(sorted(case.gold), kb),
        is_in_kb=case.is_in_kb,
        gold_rank=gold_rank,
        neighbours=tuple(
            Neighbour(rank, NamedConcepts.of(sorted(ids), kb), score, bool(ids & case.gold)) for rank, (ids, score) in best
        ),
    )


def _answers(case: Case) -> Iterator[tuple[Ids, float]]:
    """Yield each answer with its score, best first."""
    for group, score in zip(case.rankings[0], case.scores[0], strict=True):
        yield from ((ids, score) for ids in group)
