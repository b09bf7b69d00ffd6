"""Pairs of a mention and a name of its concept, to fine-tune an encoder on a corpus: SapBERT, appendix A.3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.text.normal import normal_name
from onym.train.samples.base import Positive
from onym.train.samples.order import Ints, OrderedSamples, draw_rows
from onym.train.samples.targets import DocMention, concepts_of, names_of, require_linkable, targets_of

_STREAM = 5
_ALL = 2**64  # random numbers are below it


@dataclass(frozen=True, slots=True)
class Query:
    """A mention as a query: its string and the id of that, its concepts, all their names, and the most similar one."""

    surface: str
    string: int
    concepts: tuple[int, ...]
    names: tuple[int, ...]
    best: int


class MentionPairs(OrderedSamples):
    """`count` pairs of mentions: every mention is seen once in an epoch, in an order by `seed`.

    Its name is drawn each time: with probability `similar` the most similar one by TF-IDF, else any name of its concepts. The
    paper takes every name in turn, which gives a concept of many names more weight.

    >>> from onym.types import Document, Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> doc = Document("1", "He had Heart Attacks", (Mention(7, 20, "Heart Attacks", ("mesh:D009203",)),))
    >>> pairs = MentionPairs([(doc, doc.mentions[0])], kb, count=2, similar=1.0)
    >>> [(pair.first, pair.second) for pair in pairs.__getitems__([0, 1])]
    [('heart attacks', 'heart attack'), ('heart attacks', 'heart attack')]
    """

    def __init__(
        self, mentions: Sequence[DocMention], kb: KnowledgeBase, *, count: int, similar: float = 0.5, seed: int = 0
    ) -> None:
        if not 0 <= similar <= 1:
            raise ConfigError("config-invalid", f"a probability of {similar}", fix="give a number from 0 to 1")
        self._kb, self._similar, self._seed = kb, similar, seed
        self.queries = _queries(mentions, kb, is_compared=similar > 0)
        self.unlinkable = len(mentions) - len(self.queries)
        require_linkable(len(self.queries))
        super().__init__(len(self.queries), count, seed)

    def __getitems__(self, indices: Sequence[int]) -> list[Positive]:
        numbers = np.asarray(indices, dtype=np.int64)
        drawn = draw_rows(self._seed, numbers, 2, stream=_STREAM).tolist()
        return [self._pair(self.queries[row], *draw) for row, draw in zip(self.rows(numbers).tolist(), drawn, strict=True)]

    def rows(self, indices: Ints) -> Ints:
        """Return which of `queries` comes at each index."""
        return self._order.at(indices)

    def _pair(self, query: Query, chance: int, number: int) -> Positive:
        name = query.best if chance < self._similar * _ALL else query.names[number % len(query.names)]
        named = self._kb.name_concepts[name].tolist()
        concept = next(concept for concept in query.concepts if concept in named)
        also = tuple(other for other in query.concepts if other != concept)
        return Positive(query.surface, self._kb.names[name], concept, (query.string, name), also)


def _queries(mentions: Sequence[DocMention], kb: KnowledgeBase, *, is_compared: bool) -> list[Query]:
    """Return the mentions whose concepts are in the knowledge base; without a comparison any of their names is the best."""
    best = targets_of(mentions, kb, choice="similar" if is_compared else "sampled")
    surfaces = [normal_name(mention.surface) for _, mention in mentions]
    strings = _strings(surfaces, kb)
    meant = {mention.concept_ids: concepts_of(mention, kb) for _, mention in mentions}
    names = {concept_ids: names_of(concepts, kb) for concept_ids, concepts in meant.items()}
    return [
        Query(surface, strings[surface], meant[mention.concept_ids], names[mention.concept_ids], found[0])
        for surface, (_, mention), found in zip(surfaces, mentions, best, strict=True)
        if found and surface  # a linker returns nothing for a mention that normalises to nothing
    ]


def _strings(surfaces: Sequence[str], kb: KnowledgeBase) -> dict[str, int]:
    """Return the id of each string: that of the equal name, else one beyond all names."""
    found: dict[str, int] = {}
    for number, surface in enumerate(dict.fromkeys(surfaces), start=len(kb.names)):
        name = kb.names.find(surface)
        found[surface] = name if name >= 0 else number
    return found
