"""Retired ids: what their sources give instead, and how an id was resolved.

Its columns (see `onym.kb.knowledge_base` for the notation):

retired            the retired ids, sorted            retired.successors  offset of each retired id's first successor
successor.id       the id given instead               successor.kind      SuccessorKind
successor.source   -> sources                         successor.release   -> releases
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from onym.store.arrays import Ragged, Strings, corrupt
from onym.store.artefact import Artefact
from onym.types import Successor, SuccessorKind

How = Literal["id", "joined", "alternative", "replaced", "retired", "unknown"]


class Resolution(tuple[int, ...]):
    """The rows of the concepts that an id stands for, and how they were found.

    `matched` is the id as the knowledge base spells it. `how` says what it is: the `id` of a concept; the id of a concept that
    was `joined` with one of another vocabulary; an `alternative` id; a retired id that was `replaced` by the id of this
    concept; a `retired` id without a certain successor, which has no rows; or `unknown`.

    >>> Resolution([3], "mesh:D005334", "id").how
    'id'
    """

    matched: str
    how: How

    def __new__(cls, rows: Iterable[int], matched: str = "", how: How = "unknown") -> Self:
        """Create a tuple with two attributes."""
        found = super().__new__(cls, rows)
        found.matched, found.how = matched, how
        return found


def describe_successors(successors: Iterable[Successor]) -> str:
    """Return the successors of a retired id in words, grouped by kind.

    >>> describe_successors([Successor(each, SuccessorKind.CONSIDER, "hp") for each in ("hp:0045074", "hp:0045075")])
    'consider hp:0045074 or hp:0045075'
    """
    by_kind: dict[SuccessorKind, list[str]] = {}
    for each in successors:
        by_kind.setdefault(each.kind, []).append(each.target)
    return "; ".join(f"{kind.label} {' or '.join(targets)}" for kind, targets in by_kind.items())


class RetiredIds:
    """The retired ids of a knowledge base with their successors; empty in knowledge bases of older versions."""

    def __init__(self, artefact: Artefact, sources: Strings) -> None:
        self._sources = sources
        self._is_stored = artefact.has("retired")
        if not self._is_stored:
            self.ids = Strings.of([])
            return
        self.ids = artefact.strings("retired")
        self._targets = artefact.strings("successor.id")
        self._kinds = artefact.array("successor.kind")
        self._lists = Ragged(artefact.array("retired.successors"), self._kinds, name="retired.successors")
        self._source_rows = artefact.array("successor.source")
        self._releases = artefact.strings("releases")
        self._release_rows = artefact.array("successor.release")

    def __len__(self) -> int:
        return len(self.ids)

    def successors(self, concept_id: str) -> tuple[Successor, ...]:
        """Return what the sources give for a retired id, the most certain first; empty if it is not retired."""
        row = self.ids.find(concept_id)
        return tuple(self._successor(at) for at in range(*self._lists.span(row))) if row >= 0 else ()

    def _successor(self, at: int) -> Successor:
        kind, source, release = (int(column[at]) for column in (self._kinds, self._source_rows, self._release_rows))
        if kind >= len(SuccessorKind) or source >= len(self._sources) or release >= len(self._releases):
            raise corrupt("a column points beyond its table", "successor.kind")
        return Successor(self._targets[at], SuccessorKind(kind), self._sources[source], self._releases[release])

    def require_sound(self) -> None:
        """Raise IntegrityError if the columns contradict each other."""
        if not self._is_stored:
            return
        for name, column in (("retired", self.ids), ("successor.id", self._targets), ("releases", self._releases)):
            column.require_sound(name)
        self._lists.require_sound("retired.successors")
        count = len(self._targets)
        bounds = ((self._kinds, len(SuccessorKind)), (self._source_rows, len(self._sources)),
                  (self._release_rows, len(self._releases)))  # fmt: skip
        fits = all(len(column) == count and (not count or int(column.max()) < bound) for column, bound in bounds)
        if not fits or len(self._lists) != len(self.ids):
            raise corrupt("the columns of retired ids contradict each other", "retired")
