"""Figures over cases: recall at k and mean average precision, over all cases and over those whose gold ids are in the KB."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from onym.evaluate.cases import Case, Ids, Ranking
from onym.evaluate.protocols import protocol_named


@dataclass(frozen=True, slots=True)
class Scores:
    """The figures of one protocol. `recall` and `in_kb_recall` are shares by k; without cases they are zero.

    `in_kb` counts the cases whose gold ids are all in the KB, and `in_kb_recall` is the recall over them.
    """

    protocol: str
    cases: int
    in_kb: int
    recall: dict[int, float]
    in_kb_recall: dict[int, float]
    mean_average_precision: float


def score(cases: Sequence[Case], name: str = "strict", ks: Iterable[int] = (1, 5)) -> Scores:
    """Judge cases by a protocol. A gold concept that the knowledge base lacks cannot be hit, and counts as wrong.

    >>> right = Case("1", frozenset({"a:1"}), (((frozenset({"a:1"}),),),))
    >>> wrong = Case("1", frozenset({"b:1"}), (((frozenset({"a:1"}),),),), is_in_kb=False)
    >>> scores = score([right, wrong])
    >>> scores.recall[1], scores.in_kb_recall[1]
    (0.5, 1.0)
    """
    ranks = gold_ranks(cases, name)
    in_kb = [rank for case, rank in zip(cases, ranks, strict=True) if case.is_in_kb]
    ks = tuple(ks)
    return Scores(
        protocol=name,
        cases=len(cases),
        in_kb=len(in_kb),
        recall={k: recall_at(ranks, k) for k in ks},
        in_kb_recall={k: recall_at(in_kb, k) for k in ks},
        mean_average_precision=sum(map(average_precision, cases)) / max(len(cases), 1),
    )


def gold_ranks(cases: Iterable[Case], name: str) -> list[int | None]:
    """Return the rank of gold of each case under a protocol."""
    return list(map(protocol_named(name), cases))


def recall_at(ranks: Sequence[int | None], k: int) -> float:
    """Return the share of cases whose rank of gold is at most k."""
    return sum(rank is not None and rank <= k for rank in ranks) / max(len(ranks), 1)


def average_precision(case: Case) -> float:
    """Return the mean, over the gold concepts, of the precision at each one's rank; undecided ties count at their end.

    With one gold concept it is one over its rank. Each part of a composite counts by the first gold concept it meets.

    >>> average_precision(Case("1", frozenset({"a:1"}), (((frozenset({"b:1"}),), (frozenset({"a:1"}),)),)))
    0.5
    """
    if len(case.rankings) == 1:
        return sum(_precisions(case.rankings[0], case.gold)) / len(case.gold)
    return sum(max(_precisions(ranking, case.gold), default=0.0) for ranking in case.rankings) / len(case.rankings)


def _precisions(ranking: Ranking, gold: Ids) -> list[float]:
    """Return the precision at the rank of each gold concept that is found."""
    found: set[str] = set()
    rank, precisions = 0, []
    for group in ranking:
        rank += len(group)
        fresh = {concept_id for ids in group for concept_id in ids & gold} - found
        found |= fresh
        precisions += [min(1.0, len(found) / rank)] * len(fresh)
    return precisions
