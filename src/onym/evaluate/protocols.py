"""When an answer is right. A figure without the name of its protocol means nothing.

| protocol | right is |
|---|---|
| `strict` | the gold concept, alone at its score; a composite only as the whole set |
| `one-id` | one concept, alone at its score, that is among the gold ones |
| `any-id` | a name of which any id is a gold one: it counts for all concepts that share it (GenBioEL, ANGEL) |
| `biosyn` | the same, for every part of a composite (BioSyn, SapBERT) |

A protocol gives the *place* of the right answer: recall@k counts the places up to k. `strict` and `one-id` count every answer,
those of a tie at its end; the other two count names, as the published systems do: all concepts of a name are one place, and of
two names with the same score the first comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from onym.errors import ConfigError
from onym.evaluate.cases import Case, Ids, Ranking

Protocol = Callable[[Case], int | None]
"""The place of the right answer, from 1, or None where there is none."""


def protocol(name: str) -> Protocol:
    """Return a protocol by its name.

    >>> tie = (frozenset({"a:1"}), frozenset({"a:2"}))
    >>> case = Case("1", frozenset({"a:1"}), ((tie,),))
    >>> protocol("strict")(case), protocol("any-id")(case)
    (2, 1)
    """
    if name not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise ConfigError("protocol-unknown", f"no protocol is named {name!r}", fix=f"the names are {known}")
    return PROTOCOLS[name]


def strict(case: Case) -> int | None:
    """Judge by the whole gold set: in one answer, or in one answer for each part."""
    if len(case.rankings) == 1:
        found = _place_alone(case.rankings[0], lambda ids: ids == case.gold)
        return found[0] if found else None
    parts = [_place_alone(ranking, lambda ids: ids <= case.gold) for ranking in case.rankings]
    if any(part is None for part in parts):
        return None
    together = frozenset[str]().union(*(part[1] for part in parts if part))
    return max(part[0] for part in parts if part) if together == case.gold else None


def one_id(case: Case) -> int | None:
    """Judge by a single concept that is one of the gold set; the first part of a composite counts."""
    found = _place_alone(case.rankings[0], lambda ids: len(ids) == 1 and ids <= case.gold)
    return found[0] if found else None


def any_id(case: Case) -> int | None:
    """Judge by any id of a name; the first part of a composite counts."""
    return _place_of_any((case.names or case.rankings)[0], case.gold)


def biosyn(case: Case) -> int | None:
    """Judge every part by any id of a name."""
    places = [_place_of_any(ranking, case.gold) for ranking in case.names or case.rankings]
    return max((place or 0) for place in places) if all(places) else None


def _place_alone(ranking: Ranking, is_right: Callable[[Ids], bool]) -> tuple[int, Ids] | None:
    """Return the first right answer and its place, which is that of the last answer with the same score."""
    place = 0
    for rank in ranking:
        place += len(rank)
        if right := next(filter(is_right, rank), None):
            return place, right
    return None


def _place_of_any(ranking: Ranking, gold: Ids) -> int | None:
    return next((place for place, rank in enumerate(ranking, 1) if _touches(rank, gold)), None)


def _touches(rank: Iterable[Ids], gold: Ids) -> bool:
    return any(ids & gold for ids in rank)


PROTOCOLS: dict[str, Protocol] = {"strict": strict, "one-id": one_id, "any-id": any_id, "biosyn": biosyn}
"""Every protocol for mentions that are given, the default first."""
