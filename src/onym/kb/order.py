"""Ranks candidates, breaks ties between equal scores, and says which concept a name means.

The ranking is a total order, and every linker uses it.

| rule | ranked first |
|---|---|
| score | the highest score |
| preferred vocabulary | vocabularies in `prefer`, in that order; in each, its own names before lent ones |
| preferred name | concepts of which the matched name is the *preferred* name |
| vocabulary | vocabularies that come first in the recipe |
| kind of name | the order of `NameKind` |
| record | main records; MeSH's supplementary records come after its descriptors |
| source of name | the concept whose matched name is from the earliest source of the recipe |
| number of names | the concept with the fewest names, as in GenBioEL (appendix E.1) |
| id | the lowest id |

A vocabulary is the prefix of a concept's id. The order is computed from the columns of the knowledge base on first use.

A name *decides* if it alone says which concept is meant (`CandidateOrder.meaning`):

- With `prefer`, the first of these vocabularies that has the name counts. Exactly one of its concepts must have the name of its
  own, not lent by a joined concept of another vocabulary.
- Without `prefer`, the concepts of which it is the preferred name are considered, else those that have it of their own, else
  all that have it; of these, one must be the only one of the vocabulary that comes first in the recipe.
- An ordinary word that several concepts have by accident decides nothing: *all* is not the concept "All" of HPO.
- Letters of an abbreviation stand for many things. One that is not the preferred name decides only for a concept of the first
  vocabulary (in `prefer`, else in the recipe), and only if it is not lent.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence, Sized
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError
from onym.store.arrays import Ragged, Strings, corrupt
from onym.text.ordinary import ORDINARY_WORDS
from onym.vocabularies import canonical_prefix

Key = tuple[int, ...]
"""The sort key of a concept: one number per rule in `RULES`, lowest first."""
Scored = tuple[int, float, int]
"""A concept, its score, and the name that matched."""
RULES = ("preferred-vocabulary", "preferred-name", "vocabulary", "kind", "record", "source", "names", "id")
"""The tie-breaking rules in order: the fields of a key."""
_MAX_ABBREVIATION = 5  # characters
_score = itemgetter(1)
_MAX_MEANINGS = 200_000  # names whose meaning is cached
_SUPPLEMENTARY = (b"mesh:C", b"mesh:D")  # the range of ids of MeSH's supplementary records, end exclusive


class _Concepts(Sized, Protocol):
    """The part of `KnowledgeBase` that the order is computed from."""

    folder: Path
    concept_ids: Strings
    names: Strings
    name_concepts: Ragged

    def is_lent(self, row: int, name: int) -> bool: ...
    def form_of(self, row: int, name: int) -> str: ...
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
        self.preferred = tuple(dict.fromkeys(map(canonical_prefix, prefer)))
        ranks = {name: rank for rank, name in enumerate(self.vocabularies)}
        self._ranks = [ranks[name] for name in names]
        self._meanings: dict[int, int] = {}
        self._supplementary = range(*map(kb.concept_ids.lower_bound, _SUPPLEMENTARY))

    def key(self, concept: int, name: int | None = None) -> Key:
        """Return the sort key of a concept; without the matched `name`, the rules about names do not apply."""
        vocabulary = self._rank_of(concept)
        kind, source = (0, 0) if name is None else self._kb.kind_and_source(concept, name)
        is_supplementary = int(concept in self._supplementary)
        first = 2 * min(vocabulary, len(self.preferred))
        if name is not None and vocabulary < len(self.preferred):
            first += self._kb.is_lent(concept, name)
        return first, int(kind > 0), vocabulary, kind, is_supplementary, source, len(self._kb.names_of(concept)), concept

    def vocabulary_of(self, concept: int) -> str:
        """Return the vocabulary of a concept."""
        return self.vocabularies[self._rank_of(concept)]

    def meaning(self, name: int, only: npt.NDArray[np.bool_] | None = None) -> int:
        """Return the concept that a name decides, or -1; with `only`, other concepts are ignored."""
        if name < 0:
            return -1
        if only is not None:
            return self._decide(name, only)
        found = self._meanings.get(name)
        if found is None:
            found = self._decide(name)
            if len(self._meanings) < _MAX_MEANINGS:
                self._meanings[name] = found
        return found

    def _decide(self, name: int, only: npt.NDArray[np.bool_] | None = None) -> int:
        owners = self._kb.name_concepts[name].tolist()
        if len(owners) > 1 and self._kb.names[name] in ORDINARY_WORDS:
            return -1
        concepts = [concept for concept in owners if only is None or only[concept]]
        if not self.preferred:
            preferred = [each for each in concepts if not self._kb.kind_and_source(each, name)[0]]
            concepts = preferred or [each for each in concepts if not self._kb.is_lent(each, name)] or concepts
        first = min(map(self._rank_of, concepts), default=0)
        if self.preferred and first >= len(self.preferred):
            return -1
        left = [concept for concept in concepts if self._rank_of(concept) == first]
        if self.preferred:
            left = [concept for concept in left if not self._kb.is_lent(concept, name)]
        return left[0] if len(left) == 1 and self._is_clear(left[0], name) else -1

    def _is_clear(self, concept: int, name: int) -> bool:
        """Return whether a name is not an abbreviation that may stand for something else."""
        if not is_abbreviation(self._kb.form_of(concept, name)):
            return True
        is_own = self._rank_of(concept) == 0 and not self._kb.is_lent(concept, name)
        return is_own or not self._kb.kind_and_source(concept, name)[0]

    def _rank_of(self, concept: int) -> int:
        return self._ranks[bisect_right(self._starts, concept) - 1]

    def is_supplementary(self, concepts: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
        """Return for each concept whether it is a supplementary record."""
        return (concepts >= self._supplementary.start) & (concepts < self._supplementary.stop)

    def rank(self, found: Mapping[int, tuple[float, int]]) -> Iterator[Scored]:
        """Yield concepts, best first, given the score and the matched name of each."""
        by_score = [(concept, score, name) for concept, (score, name) in found.items()]
        by_score.sort(key=_score, reverse=True)
        start = 0
        while start < len(by_score):
            score, end = by_score[start][1], start + 1
            while end < len(by_score) and by_score[end][1] == score:
                end += 1
            tied = by_score[start:end]
            yield from sorted(tied, key=lambda each: self.key(each[0], each[2])) if len(tied) > 1 else tied
            start = end


def is_abbreviation(form: str) -> bool:
    """Return whether a name is short, and at least half of it capitals and digits.

    >>> is_abbreviation("CKD"), is_abbreviation("Pb"), is_abbreviation("T2DM"), is_abbreviation("AIDS dementia")
    (True, True, True, False)
    """
    return len(form) <= _MAX_ABBREVIATION and 2 * sum(c.isupper() or c.isdigit() for c in form) >= len(form)


def deciding_rule(first: Key, second: Key) -> str:
    """Return the rule that puts one key before another.

    >>> deciding_rule((0, 1, 0, 1, 0, 2, 9, 7), (0, 1, 0, 2, 0, 1, 9, 3))
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
