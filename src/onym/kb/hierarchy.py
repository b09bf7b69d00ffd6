"""The hierarchy of a knowledge base: parents and children of concepts, and walks over them.

Its columns (see `onym.kb.knowledge_base` for the notation):

concept.parents   concept -> concepts               concept.children  concept -> concepts, the same relations reversed
parent.kind       ParentKind, and two flags         child.kind        likewise
parent.source     -> sources                        child.source      likewise

Sources may contradict themselves or each other, so the relations can have cycles. The relations that close a cycle are kept
and flagged, and walks leave them out: `LOOP` closes a cycle of its own source, `JOINED_LOOP` one of several sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError, UnknownConceptError
from onym.store.arrays import Ragged, Strings, corrupt
from onym.types import ParentKind, Relative

if TYPE_CHECKING:
    from onym.store.artefact import Artefact

LOOP, JOINED_LOOP = 0x80, 0x40
_KIND = 0x3F  # the bits of the kind

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Relations:
    """The relations of all concepts in one direction. `kinds` and `sources` have one entry per value of `lists`."""

    lists: Ragged
    kinds: npt.NDArray[np.uint8]
    sources: npt.NDArray[np.uint16]

    @classmethod
    def open(cls, artefact: Artefact, end: str, concepts: int) -> Relations:
        """Open the columns of one direction; `end` is `parent` or `child`. Knowledge bases of older versions have none."""
        lists = {"parent": "concept.parents", "child": "concept.children"}[end]
        if not artefact.has(lists):
            none = Ragged(np.zeros(concepts + 1, dtype="<u4"), np.empty(0, dtype="<u4"), into=0)
            return cls(none, np.empty(0, dtype="|u1"), np.empty(0, dtype="<u2"))
        return cls(artefact.read_ragged(lists, concepts), artefact.array(f"{end}.kind"), artefact.array(f"{end}.source"))

    def require_sound(self, name: str, concepts: int, sources: int) -> None:
        """Raise IntegrityError if lengths disagree or a number is out of range."""
        self.lists.require_sound(name, concepts)
        count = len(self.lists.values)
        lengths = len(self.lists) == concepts and len(self.kinds) == len(self.sources) == count
        if not lengths or (
            count and (int((self.kinds & _KIND).max()) >= len(ParentKind) or int(self.sources.max()) >= sources)
        ):
            raise corrupt("the columns of the hierarchy contradict each other", name)

    def of(self, row: int) -> Iterator[tuple[int, int, int]]:
        """Yield (concept, kind with flags, source) of the relations of one concept."""
        start, end = self.lists.span(row)
        return zip(self.lists[row].tolist(), self.kinds[start:end].tolist(), self.sources[start:end].tolist(), strict=True)

    def step(self, rows: Rows, source: int | None, *, mapped: bool) -> Rows:
        """Return the concepts one step away from any of the rows, sorted; see `Hierarchy.above` for the filters."""
        edges, _ = self.lists.positions(rows)
        kinds = self.kinds[edges]
        keep = kinds & (LOOP if source is not None else LOOP | JOINED_LOOP) == 0
        if not mapped:
            keep &= kinds & _KIND != ParentKind.MAPPED_TO
        if source is not None:
            keep &= self.sources[edges] == source
        return np.unique(self.lists.at(edges[keep])).astype(np.int64)


class Hierarchy:
    """Walks over the parents and children of concepts. Concepts are given by their rows, unless stated otherwise.

    >>> from onym.kb import KnowledgeBase
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> kb.hierarchy.is_empty
    True
    """

    def __init__(self, artefact: Artefact, ids: Strings, sources: Strings, name_of: Callable[[int], str]) -> None:
        self._concept_ids, self._all_sources, self._name_of = ids, sources, name_of
        self._up = Relations.open(artefact, "parent", len(ids))
        self._down = Relations.open(artefact, "child", len(ids))

    @property
    def is_empty(self) -> bool:
        """True if the knowledge base has no hierarchy: its sources state none, or an older version built it."""
        return not len(self._up.kinds)

    def require_stored(self, where: str = "") -> None:
        """Raise ConfigError if the knowledge base has no hierarchy; `where` names the option that needs one."""
        if self.is_empty:
            what = "this knowledge base has no hierarchy: its sources state no parents, or an older version of Onym built it"
            fix = "build the knowledge base again, from a release that states parents, such as OBO, MeSH or SNOMED CT"
            raise ConfigError("hierarchy-missing", what, where=where, fix=fix)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The sources that state a relation."""
        return tuple(self._all_sources[int(source)] for source in np.unique(self._up.sources))

    @cached_property
    def kinds(self) -> frozenset[ParentKind]:
        """The kinds of relations that the knowledge base has."""
        return frozenset(ParentKind(int(kind)) for kind in np.flatnonzero(np.bincount(np.asarray(self._up.kinds) & _KIND)))

    @cached_property
    def parent_sources(self) -> tuple[str, ...]:
        """The sources that state a parent, not only mapped headings."""
        is_above = np.asarray(self._up.kinds) & _KIND != ParentKind.MAPPED_TO
        counts = np.bincount(np.asarray(self._up.sources)[is_above])
        return tuple(self._all_sources[int(source)] for source in np.flatnonzero(counts))

    def relations(self) -> tuple[Rows, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Return all relations as columns: rows of the child and of the parent, ParentKind, and row of the source."""
        return self._up.lists.owners(), self._up.lists.values, self._up.kinds & _KIND, self._up.sources

    def parents_of(self, row: int) -> tuple[Relative, ...]:
        """Return the parents that the sources state, with mapped headings."""
        return self._relatives(self._up, row)

    def iter_parents(self, row: int) -> Iterator[tuple[int, ParentKind, int]]:
        """Yield (concept, kind, source) of the parents that a walk within one source follows, with mapped headings, as rows."""
        return ((other, ParentKind(kind & _KIND), source) for other, kind, source in self._up.of(row) if not kind & LOOP)

    def children(self, concept_id: str) -> tuple[Relative, ...]:
        """Return the children of a concept, given by its id, with mapped supplementary records."""
        return self._relatives(self._down, self._row(concept_id))

    def ancestors(self, concept_id: str) -> tuple[str, ...]:
        """Return the ids of all concepts above one, given by its id; the nearest first."""
        return self._ids(self.above(self._row(concept_id)))

    def descendants(self, concept_id: str) -> tuple[str, ...]:
        """Return the ids of all concepts below one, given by its id; the nearest first."""
        return self._ids(self.below(self._row(concept_id)))

    def above(self, row: int, *, source: str = "", mapped: bool = False) -> Rows:
        """Return the rows of all concepts above, the nearest first, in one source or in all together.

        With `mapped`, the walk also goes from supplementary records to the headings that they are mapped to.
        """
        return _concatenate(self._walk(self._up, np.array([row]), source, mapped=mapped))

    def below(self, *rows: int, source: str = "", mapped: bool = False) -> Rows:
        """Return the rows of all concepts below any of the given ones, the nearest first; options as for `above`."""
        return _concatenate(self._walk(self._down, np.array(rows, dtype=np.int64), source, mapped=mapped))

    def paths(self, row: int, limit: int) -> list[tuple[int, ...]]:
        """Return at most `limit` paths, as rows, from the top of the hierarchy to a concept; mapped headings are left out.

        If there are more paths, the returned ones go through as many different parents of the concept as possible.
        """
        parents = self._parent_rows(row)
        climbs = [self._climb((parent, row)) for parent in parents] or [iter([(row,)])]
        found = (path for paths in zip_longest(*climbs) for path in paths if path)
        return list(islice(found, limit))

    def _climb(self, path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Yield every way to continue a path upwards to a concept without parents."""
        current: list[int] = [*reversed(path)]  # from the concept upwards; a path is copied only when it is whole
        unfinished = [(path[0], len(path))]
        while unfinished:
            row, depth = unfinished.pop()
            current[depth - 1 :] = [row]
            parents = self._parent_rows(row)
            unfinished.extend((parent, depth + 1) for parent in reversed(parents))
            if not parents:
                yield tuple(reversed(current))

    def _parent_rows(self, row: int) -> list[int]:
        """Return the rows of the parents that walks follow."""
        found: list[int] = self._up.step(np.array([row]), None, mapped=False).tolist()
        return found

    def distance(self, one: int, other: int, source: str) -> int | None:
        """Return the number of steps between two concepts through their nearest common ancestor; None if they have none."""
        above_one, above_other = self._steps_up(one, source), self._steps_up(other, source)
        shared = above_one.keys() & above_other.keys()
        return min((above_one[row] + above_other[row] for row in shared), default=None)

    def _steps_up(self, row: int, source: str) -> dict[int, int]:
        """Return the concept itself and all above it in one source, with the number of steps to each."""
        levels = self._walk(self._up, np.array([row]), source, mapped=False)
        return {row: 0} | {each: steps for steps, level in enumerate(levels, 1) for each in level.tolist()}

    def _walk(self, relations: Relations, start: Rows, source: str, *, mapped: bool) -> Iterator[Rows]:
        """Yield the concepts that are one, two, three ... steps away from the start."""
        source_row = self._source_row(source)
        seen = np.zeros(len(self._concept_ids), dtype=bool)
        seen[start] = True
        while len(start):
            near = relations.step(start, source_row, mapped=mapped)
            start = near[~seen[near]]
            seen[start] = True
            if len(start):
                yield start

    def _source_row(self, source: str) -> int | None:
        """Return the row of a source in the knowledge base; -1, which no relation has, if it is not there."""
        return list(self._all_sources).index(source) if source in self.sources else -1 if source else None

    def _relatives(self, relations: Relations, row: int) -> tuple[Relative, ...]:
        return tuple(
            Relative(self._concept_ids[other], self._name_of(other), ParentKind(kind & _KIND), self._all_sources[source])
            for other, kind, source in relations.of(row)
        )

    def _row(self, concept_id: str) -> int:
        row = self._concept_ids.find(concept_id)
        if row < 0:
            raise UnknownConceptError("concept-unknown", f"no concept has the id {concept_id!r}", fix="use the id of a concept")
        return row

    def _ids(self, rows: npt.NDArray[Any]) -> tuple[str, ...]:
        return tuple(self._concept_ids[row] for row in rows.tolist())

    def require_sound(self) -> None:
        """Raise IntegrityError if the columns contradict each other."""
        for name, relations in (("concept.parents", self._up), ("concept.children", self._down)):
            relations.require_sound(name, len(self._concept_ids), len(self._all_sources))


def _concatenate(levels: Iterator[Rows]) -> Rows:
    found = list(levels)
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)
