"""Wrong names that look like a mention, by TF-IDF: ANGEL's negatives in pre-training, and in the ablation of its Table 2."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from onym.kb import KnowledgeBase
from onym.kb.search import open_similarity
from onym.text.normal import normal_name
from onym.train.samples.order import draw

NONE = -1
"""Where no name of another concept shares a 3-gram with the mention."""
_STREAM = 3
_MORE = 4  # times as many names are searched as are needed; and again, where too many are right


class Lookalikes:
    """For a mention a random one of the `count` most similar names that belong to none of its concepts.

    Make it once: it weighs the 3-grams of all names, and keeps them.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> heart = kb.resolve("mesh:D009203")
    >>> found = Lookalikes(kb, count=1).names_for(["high heart attack"], [heart], [0])
    >>> [kb.names[name] for name in found]
    ['high blood pressure']
    """

    def __init__(self, kb: KnowledgeBase, *, count: int = 5, seed: int = 0) -> None:
        self._kb, self._count, self._seed = kb, count, seed
        self._similarity = open_similarity(kb)

    def names_for(self, surfaces: Sequence[str], gold: Sequence[Collection[int]], indices: Sequence[int]) -> list[int]:
        """Return the id of a wrong name for each mention, or NONE; the same index gives the same name."""
        found = self._wrong([normal_name(surface) for surface in surfaces], [frozenset(each) for each in gold])
        return [
            names[draw(self._seed, index, len(names), stream=_STREAM)] if names else NONE
            for names, index in zip(found, indices, strict=True)
        ]

    def _wrong(self, surfaces: Sequence[str], gold: Sequence[frozenset[int]]) -> list[list[int]]:
        """Return for each mention its `count` most similar wrong names, or as many as there are."""
        found: list[list[int]] = [[] for _ in surfaces]
        left, depth = list(range(len(surfaces))), self._count * _MORE
        while left:
            tops = self._similarity.top([surfaces[row] for row in left], depth)
            cut = []
            for row, (names, _) in zip(left, tops, strict=True):
                found[row] = [name for name in names.tolist() if self._is_wrong(name, gold[row])][: self._count]
                if len(found[row]) < self._count and len(names) == depth:
                    cut.append(row)
            left, depth = cut, depth * _MORE
        return found

    def _is_wrong(self, name: int, gold: frozenset[int]) -> bool:
        return gold.isdisjoint(self._kb.name_concepts[name].tolist())
