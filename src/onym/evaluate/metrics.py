"""Protocols, which say when an answer is right, and the figures over cases: recall at k and mean average precision.

A figure without the name of its protocol means nothing.

| protocol | right is |
|---|---|
| `strict` | the gold concept, as the first answer; a composite only as the whole set |
| `one-id` | one concept, as the first answer, that is among the gold ones |
| `any-id` | a name of which any id is a gold one: it counts for all concepts that share it (GenBioEL, ANGEL) |
| `biosyn` | the same, for every part of a composite (BioSyn, SapBERT) |

A protocol returns the *rank of gold*: the rank of the right answer, from 1. Recall@k is the share of cases with a rank up to k.
`strict` and `one-id` rank every answer as it stands. Where predictions do not say that the order of equal scores is decided,
those are a tie, and all of them rank at its end: none is the first answer. The other two rank names, as the published systems
do: all concepts of a name share one rank, and of two names with the same score the first comes first.

Figures are counted over all cases, and over those whose gold ids are in the KB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from onym.errors import ConfigError
from onym.evaluate.cases import Case, Ids, Ranking

Protocol = Callable[[Case], int | None]
"""Returns the rank of gold, from 1, or None where no answer is right."""


def find_protocol(name: str) -> Protocol:
    """Return a protocol by its name.

    >>> tie = (frozenset({"a:1"}), frozenset({"a:2"}))
    >>> case = Case("1", frozenset({"a:1"}), ((tie,),))
    >>> find_protocol("strict")(case), find_protocol("any-id")(case)
    (2, 1)
    """
    if name not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise ConfigError("protocol-unknown", f"no protocol is named {name!r}", fix=f"the names are {known}")
    return PROTOCOLS[name]


def strict(case: Case) -> int | None:
    """Judge by the whole gold set: in one answer, or in one answer for each part."""
    if len(case.rankings) == 1:
        first = _first_right(case.rankings[0], lambda ids: ids == case.gold)
        return first[0] if first else None
    parts = [_first_right(ranking, lambda ids: ids <= case.gold) for ranking in case.rankings]
    if any(part is None for part in parts):
        return None
    together = frozenset[str]().union(*(part[1] for part in parts if part))
    return max(part[0] for part in parts if part) if together == case.gold else None


def one_id(case: Case) -> int | None:
    """Judge by a single concept that is one of the gold set; the first part of a composite counts."""
    first = _first_right(case.rankings[0], lambda ids: len(ids) == 1 and ids <= case.gold)
    return first[0] if first else None


def any_id(case: Case) -> int | None:
    """Judge by any id of a name; the first part of a composite counts."""
    return _rank_of_any((case.names or case.rankings)[0], case.gold)


def biosyn(case: Case) -> int | None:
    """Judge every part by any id of a name."""
    ranks = [_rank_of_any(ranking, case.gold) for ranking in case.names or case.rankings]
    return max((rank or 0) for rank in ranks) if all(ranks) else None


def _first_right(ranking: Ranking, is_right: Callable[[Ids], bool]) -> tuple[int, Ids] | None:
    """Return the first right answer and its rank, which is that of the last answer of its group."""
    rank = 0
    for group in ranking:
        rank += len(group)
        if right := next(filter(is_right, group), None):
            return rank, right
    return None


def _rank_of_any(ranking: Ranking, gold: Ids) -> int | None:
    return next((rank for rank, group in enumerate(ranking, 1) if _has_any(group, gold)), None)


def _has_any(group: Iterable[Ids], gold: Ids) -> bool:
    return any(ids & gold for ids in group)


PROTOCOLS: dict[str, Protocol] = {"strict": strict, "one-id": one_id, "any-id": any_id, "biosyn": biosyn}
"""Every protocol for linking annotated mentions, the default first."""


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
    return list(map(find_protocol(name), cases))


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
