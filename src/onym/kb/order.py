"""Ranks candidates and breaks ties between equal scores. It is a total order, and every linker uses it.

| rule | ranked first |
|---|---|
| score | the highest score |
| vocabulary | vocabularies in `prefer`, in that order; then those that come first in the recipe |
| kind of name | a match of a *preferred* name, then the order of `NameKind` |
| record | main records; MeSH's supplementary records come after its descriptors |
| source of name | the concept whose matched name is from the earliest source of the recipe |
| number of names | the concept with the fewest names, as in GenBioEL (appendix E.1) |
| id | the lowest id |

A vocabulary is the prefix of a concept's id. The order is computed from the columns of the knowledge base on first use.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence, Sized
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError
from onym.store.arrays import Strings, corrupt
from onym.vocabularies import canonical_prefix

Key = tuple[int, ...]
"""The sort key of a concept: one number per rule in `RULES`, lowest first."""
Scored = tuple[int, float, int]
"""A concept, its score, and the name that matched."""
RULES = ("vocabulary", "kind", "record", "source", "names", "id")
"""The tie-breaking rules in order: the fields of a key."""
_SUPPLEMENTARY = (b"mesh:C", b"mesh:D")  # the range of ids of MeSH's supplementary records, end exclusive


class _Concepts(Sized, Protocol):
    """The part of `KnowledgeBase` that the order is computed from."""

    folder: Path
    concept_ids: Strings

    def kind_and_source(self, concept: int, name: int) -> tuple[int, int]: ...
    def names_of(self, concept: int) -> npt.NDArray[np.integer[Any]]: ...
    def sources_of(self, start: int, end: int) -> npt.NDArray[np.integer[Any]]: ...


class CandidateOrder:
    """The ranking order of a knowledge base's candidates; the vocabularies in `prefer` come first.

    >>> from onym.kb import KnowledgeBase
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> kb.order.vocabularies
    ('mesh',)
    """

    def __init__(self, kb: _Concepts, prefer: Sequence[str] = ()) -> None:
        self._kb = kb
        found = list(iter_prefixes(kb.concept_ids))
        self._starts = [row for _, row in found]
        names = [prefix for prefix, _ in found]
        self.vocabularies = _in_order(names, _appearances(kb, self._starts), prefer)
        ranks = {name: rank for rank, name in enumerate(self.vocabularies)}
        self._ranks = [ranks[name] for name in names]
        self._supplementary = range(*map(kb.concept_ids.lower_bound, _SUPPLEMENTARY))

    def key(self, concept: int, name: int | None = None) -> Key:
        """Return the sort key of a concept; without the matched `name`, the rules about names do not apply."""
        vocabulary = self._ranks[bisect_right(self._starts, concept) - 1]
        kind, source = (0, 0) if name is None else self._kb.kind_and_source(concept, name)
        is_supplementary = int(concept in self._supplementary)
        return vocabulary, kind, is_supplementary, source, len(self._kb.names_of(concept)), concept

    def is_supplementary(self, concepts: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
        """Return for each concept whether it is a supplementary record."""
        return (concepts >= self._supplementary.start) & (concepts < self._supplementary.stop)

    def rank(self, found: Mapping[int, tuple[float, int]]) -> Iterator[Scored]:
        """Yield concepts, best first, given the score and the matched name of each."""
        by_score = sorted(((concept, score, name) for concept, (score, name) in found.items()), key=lambda each: -each[1])
        for _, group in groupby(by_score, key=lambda each: each[1]):
            tied = list(group)
            yield from sorted(tied, key=lambda each: self.key(each[0], each[2])) if len(tied) > 1 else tied


def deciding_rule(first: Key, second: Key) -> str:
    """Return the rule that puts one key before another.

    >>> deciding_rule((0, 1, 0, 2, 9, 7), (0, 2, 0, 1, 9, 3))
    'kind'
    """
    return next(rule for rule, one, other in zip(RULES, first, second, strict=True) if one != other)


def iter_prefixes(ids: Strings) -> Iterator[tuple[str, int]]:
    """Yield each prefix of the sorted ids with its first row, by one binary search per prefix.

    >>> list(iter_prefixes(Strings.of(["hp:1", "mesh:C1", "mesh:D1"])))
    [('hp', 0), ('mesh', 1)]
    """
    row = 0
    while row < len(ids):
        prefix = ids[row].partition(":")[0]
        yield prefix, row
        row = max(row + 1, ids.lower_bound(f"{prefix};".encode()))  # ';' follows ':' in ASCII


def _in_order(names: Sequence[str], appearances: Sequence[tuple[int, int]], prefer: Sequence[str]) -> tuple[str, ...]:
    """Sort vocabularies: preferred ones, then by first source, then by the number of names from that source."""
    first = tuple(dict.fromkeys(map(canonical_prefix, prefer)))
    if unknown := [name for name in first if name not in names]:
        what = f"the knowledge base has no concepts of the vocabulary {unknown[0]!r}"
        raise ConfigError("vocabulary-unknown", what, fix=f"use one of {', '.join(sorted(names)[:20])}")
    rest = sorted(zip(appearances, names, strict=True))
    return tuple(dict.fromkeys((*first, *(name for _, name in rest))))


def _appearances(kb: _Concepts, starts: Sequence[int]) -> list[tuple[int, int]]:
    """Return for each vocabulary its first source, and the negated number of names from that source, as a sort key."""
    found = []
    for start, end in zip(starts, [*starts[1:], len(kb)], strict=True):
        sources = kb.sources_of(start, end)
        if not len(sources):
            raise corrupt("a vocabulary has no names", str(kb.folder))
        first = int(sources.min())
        found.append((first, -int(np.count_nonzero(sources == first))))
    return found
