"""When an answer is right. A figure without the name of its protocol means nothing.

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
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from onym.errors import ConfigError
from onym.evaluate.cases import Case, Ids, Ranking

Protocol = Callable[[Case], int | None]
"""Returns the rank of gold, from 1, or None where no answer is right."""


def protocol_named(name: str) -> Protocol:
    """Return a protocol by its name.

    >>> tie = (frozenset({"a:1"}), frozenset({"a:2"}))
    >>> case = Case("1", frozenset({"a:1"}), ((tie,),))
    >>> protocol_named("strict")(case), protocol_named("any-id")(case)
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
