"""Figures over cases: recall at k and mean average precision, over all cases and over those within reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from onym.evaluate.cases import Case, Ids, Ranking
from onym.evaluate.protocols import protocol


@dataclass(frozen=True, slots=True)
class Scores:
    """The figures of one protocol. `recall` and `reachable_recall` are shares by k; nothing to judge gives zeros."""

    protocol: str
    cases: int
    reachable: int
    recall: dict[int, float]
    reachable_recall: dict[int, float]
    mean_average_precision: float


def score(cases: Sequence[Case], name: str = "strict", ks: Iterable[int] = (1, 5)) -> Scores:
    """Judge cases by a protocol. A gold concept that the knowledge base lacks cannot be hit, and counts as wrong.

    >>> right = Case("1", frozenset({"a:1"}), (((frozenset({"a:1"}),),),))
    >>> wrong = Case("1", frozenset({"b:1"}), (((frozenset({"a:1"}),),),), is_reachable=False)
    >>> scores = score([right, wrong])
    >>> scores.recall[1], scores.reachable_recall[1]
    (0.5, 1.0)
    """
    places = places_of(cases, name)
    within = [place for case, place in zip(cases, places, strict=True) if case.is_reachable]
    ks = tuple(ks)
    return Scores(
        protocol=name,
        cases=len(cases),
        reachable=len(within),
        recall={k: recall_at(places, k) for k in ks},
        reachable_recall={k: recall_at(within, k) for k in ks},
        mean_average_precision=sum(map(average_precision, cases)) / max(len(cases), 1),
    )


def places_of(cases: Iterable[Case], name: str) -> list[int | None]:
    """Return the place of the right answer of each case under a protocol."""
    judge = protocol(name)
    return [judge(case) for case in cases]


def recall_at(places: Sequence[int | None], k: int) -> float:
    """Return the share of places that are at most k."""
    return sum(place is not None and place <= k for place in places) / max(len(places), 1)


def average_precision(case: Case) -> float:
    """Return the mean, over the gold concepts, of the precision at each one's place; ties count at their end.

    With one gold concept it is one over its place. Each part of a composite counts by the first gold concept it meets.

    >>> average_precision(Case("1", frozenset({"a:1"}), (((frozenset({"b:1"}),), (frozenset({"a:1"}),)),)))
    0.5
    """
    if len(case.rankings) == 1:
        return sum(_precisions(case.rankings[0], case.gold)) / len(case.gold)
    return sum(max(_precisions(ranking, case.gold), default=0.0) for ranking in case.rankings) / len(case.rankings)


def _precisions(ranking: Ranking, gold: Ids) -> list[float]:
    """Return the precision at the place of each gold concept that is found."""
    found: set[str] = set()
    place, precisions = 0, []
    for rank in ranking:
        place += len(rank)
        fresh = {concept_id for ids in rank for concept_id in ids & gold} - found
        found |= fresh
        precisions += [min(1.0, len(found) / place)] * len(fresh)
    return precisions
