"""Joining proposed pairs one after the other, never two concepts of one vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import polars as pl

from onym.kb.joins.rule import JoinRule


class Union:
    """Sets of concepts that are one. Each set keeps the id of the concept whose vocabulary comes first.

    >>> union = Union()
    >>> union.join(pl.DataFrame({"low": ["mondo:1", "mondo:2"], "high": ["mesh:1", "mesh:1"]}), JoinRule.NAME)
    >>> union.frame().rows(), union.refused
    ([('mondo:1', 'mesh:1', 3)], 1)
    """

    def __init__(self, undone: Collection[str] = ()) -> None:
        self.refused = 0
        self.undone = 0
        self.counts: Counter[JoinRule] = Counter()
        self._kept_apart = frozenset(undone)
        self._parent: dict[str, str] = {}
        self._rule: dict[str, JoinRule] = {}
        self._vocabularies: dict[str, frozenset[str]] = {}

    def join(self, pairs: pl.DataFrame, rule: JoinRule) -> None:
        """Join pairs in order, refusing whatever would bring two concepts of one vocabulary together."""
        for low, high in pairs.select("low", "high").iter_rows():
            if low in self._kept_apart or high in self._kept_apart:
                self.undone += 1
                continue
            self._join(low, high, rule)

    def frame(self) -> pl.DataFrame:
        """Return the concepts that are another one now: concept, final, rule."""
        rows = [(concept, self._root(concept), int(rule)) for concept, rule in self._rule.items()]
        return pl.DataFrame(rows, schema={"concept": pl.String, "final": pl.String, "rule": pl.UInt8}, orient="row")

    def _join(self, low: str, high: str, rule: JoinRule) -> None:
        a, b = self._root(high), self._root(low)
        mine, theirs = (self._vocabularies.get(each, frozenset({each.partition(":")[0]})) for each in (a, b))
        if mine & theirs:
            self.refused += a != b
            return
        self._parent[b] = a
        self._rule[b] = rule
        self._vocabularies[a] = mine | theirs
        self.counts[rule] += 1

    def _root(self, concept: str) -> str:
        while (up := self._parent.get(concept, concept)) != concept:
            concept = up
        return concept
