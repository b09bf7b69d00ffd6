"""Scoring protocols, which define when an answer is right, and metrics: recall@k and mean average precision.

Scores under different protocols are not comparable, so every score is reported with the name of its protocol.

| protocol | a right answer is |
|---|---|
| `strict` | the gold concept; for a composite mention, the whole set of gold concepts |
| `one-id` | a single concept that is one of the gold concepts |
| `any-id` | a name that any gold concept has, even if other concepts share it (GenBioEL, ANGEL) |
| `biosyn` | as `any-id`, but every part of a composite mention must be right (BioSyn, SapBERT) |

A protocol returns the *rank of gold*: the rank of the first right answer, from 1. Recall@k is the share of cases with a rank
<= k. `strict` and `one-id` rank concepts. If the predictions do not define the order of equal scores, all tied answers get the
rank of the last tied answer, so no tied answer has rank 1. `any-id` and `biosyn` rank names, as the published systems do: all
concepts of a name share one rank, and names with equal scores keep their order.

Scores are computed over all cases, and over the cases whose gold ids are in the KB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from onym.errors import ConfigError
from onym.evaluate.cases import Case, Ids, Ranking

Protocol = Callable[[Case], int | None]
"""Returns the rank of gold, from 1, or None if no answer is right."""


def find_protocol(name: str) -> Protocol:
    """Return a protocol by its name.

    >>> tie = (frozenset({"a:1"}), frozenset({"a:2"}))
    >>> case = Case("1", frozenset({"a:1"}), ((tie,),))
    >>> find_protocol("strict")(case), find_protocol("any-id")(case)
    (2, 1)
    """
    if name not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise ConfigError("protocol-unknown", f"unknown protocol {name!r}", fix=f"use one of {known}")
    return PROTOCOLS[name]


def strict(case: Case) -> int | None:
    """Return the rank at which the whole gold set is found: by one answer, or by one answer per part if it was split."""
    if len(case.rankings) == 1:
        first = _first_right(case.rankings[0], lambda ids: ids == case.gold)
        return first[0] if first else None
    parts = [_first_right(ranking, lambda ids: ids <= case.gold) for ranking in case.rankings]
    if any(part is None for part in parts):
        return None
    together = frozenset[str]().union(*(part[1] for part in parts if part))
    return max(part[0] for part in parts if part) if together == case.gold else None


def one_id(case: Case) -> int | None:
    """Return the rank of the first single concept in the gold set; only the first part of a composite mention is scored."""
    first = _first_right(case.rankings[0], lambda ids: len(ids) == 1 and ids <= case.gold)
    return first[0] if first else None


def any_id(case: Case) -> int | None:
    """Return the rank of the first name with a gold id; only the first part of a composite mention is scored."""
    return _rank_of_any((case.names or case.rankings)[0], case.gold)


def biosyn(case: Case) -> int | None:
    """Rank each part by its first name with a gold id, and return the worst rank; None if a part has no such name."""
    ranks = [_rank_of_any(ranking, case.gold) for ranking in case.names or case.rankings]
    return max((rank or 0) for rank in ranks) if all(ranks) else None


def _first_right(ranking: Ranking, is_right: Callable[[Ids], bool]) -> tuple[int, Ids] | None:
    """Return the rank and ids of the first right answer; all tied answers have the rank of the last tied answer."""
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
"""All protocols for linking annotated mentions; the first is the default."""
OF_PAPERS = frozenset({"any-id", "biosyn"})
"""The protocols of GenBioEL and ANGEL, and of BioSyn and SapBERT: they judge ranked names, so names must not decide first."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one protocol. `recall` and `in_kb_recall` map k to recall@k, which is 0 if there are no cases.

    `in_kb` counts the cases whose gold ids are all in the KB, and `in_kb_recall` is the recall over these cases.
    """

    protocol: str
    cases: int
    in_kb: int
    recall: dict[int, float]
    in_kb_recall: dict[int, float]
    mean_average_precision: float


def score(cases: Sequence[Case], name: str = "strict", ks: Iterable[int] = (1, 5)) -> Scores:
    """Score cases under a protocol. A case whose gold concept is not in the KB counts as wrong.

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
    """Return the average precision of a case; all tied answers have the rank of the last tied answer.

    With one gold concept, it is 1 / rank. If the mention was split into parts, each part contributes the precision at its
    best-ranked gold concept.

    >>> average_precision(Case("1", frozenset({"a:1"}), (((frozenset({"b:1"}),), (frozenset({"a:1"}),)),)))
    0.5
    """
    if len(case.rankings) == 1:
        return sum(_precisions(case.rankings[0], case.gold)) / len(case.gold)
    return sum(max(_precisions(ranking, case.gold), default=0.0) for ranking in case.rankings) / len(case.rankings)


def _precisions(ranking: Ranking, gold: Ids) -> list[float]:
    """Return the precision at the rank of each gold concept in the ranking."""
    found: set[str] = set()
    rank, precisions = 0, []
    for group in ranking:
        rank += len(group)
        fresh = {concept_id for ids in group for concept_id in ids & gold} - found
        found |= fresh
        precisions += [min(1.0, len(found) / rank)] * len(fresh)
    return precisions
