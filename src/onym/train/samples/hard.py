"""Hard negatives of mentions: concepts that an encoder confuses them with, in the same batch (BioSyn, ANCE).

Each mention is followed by a pair of names of every such concept. A pair, not a single name, so that a batch is still one of
pairs; the names of the wrong concept are drawn together, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from onym.kb import KnowledgeBase
from onym.linkers.dense import DenseLinker
from onym.train.samples.base import Positive
from onym.train.samples.mention_pairs import MentionPairs
from onym.train.samples.order import draw
from onym.types import Document, Mention

Wrong = tuple[int, int]
"""A concept that a mention does not mean, and its name that is near: a row and an id of the knowledge base."""
_STREAM = 6
_SPARE = 8  # more concepts to search for: some are near by a name that is right as well


@dataclass(frozen=True)
class HardPairs:
    """`count` pairs: every mention of `pairs` with a name of its own, then its `hard` wrong concepts, each with two names.

    `wrong` has those of each mention, in the order of `pairs.queries`; a mention with too few of them is repeated instead.
    """

    pairs: MentionPairs
    wrong: Sequence[Sequence[Wrong]]
    kb: KnowledgeBase
    hard: int
    seed: int = 0
    count: int = 0

    @property
    def epoch(self) -> int:
        """The number of pairs in an epoch."""
        return self.pairs.epoch * (1 + self.hard)

    def __len__(self) -> int:
        return self.count

    def with_count(self, count: int) -> HardPairs:
        """Return the same pairs, but so many."""
        return replace(self, count=count)

    def __getitems__(self, indices: Sequence[int]) -> list[Positive]:
        mentions = [index // (1 + self.hard) for index in indices]
        rows = self.pairs.rows(np.asarray(mentions, dtype=np.int64)).tolist()
        found = self.pairs.__getitems__(mentions)
        for at, (index, row) in enumerate(zip(indices, rows, strict=True)):
            number = index % (1 + self.hard) - 1
            if 0 <= number < len(self.wrong[row]):
                found[at] = self._pair(self.wrong[row][number], index)
        return found

    def _pair(self, wrong: Wrong, index: int) -> Positive:
        concept, name = wrong
        others = [other for other in self.kb.names_of(concept).tolist() if other != name] or [name]
        other = others[draw(self.seed, index, len(others), stream=_STREAM)]
        return Positive(self.kb.names[name], self.kb.names[other], concept, (name, other))


def mine(linker: DenseLinker, pairs: MentionPairs, hard: int) -> list[list[Wrong]]:
    """Return for each mention of `pairs` the nearest concepts that it does not mean, with the names that are near."""
    kb = linker.kb
    gold = [set(each.concepts) for each in pairs.queries]
    documents = (Document(str(row), each.surface, (_whole(each.surface),)) for row, each in enumerate(pairs.queries))
    linked = linker.link(documents, top_k=hard + max(map(len, gold), default=0) + _SPARE)
    found = []
    for concepts, item in zip(gold, linked, strict=True):
        near = ((kb.concept_ids.find(each.concept_id), kb.names.find(each.name)) for each in item.links[0].candidates)
        # A name that the mention's own concept has as well is not wrong.
        wrong = ((concept, name) for concept, name in near if concepts.isdisjoint(kb.name_concepts[name].tolist()))
        found.append(list(islice(wrong, hard)))
    return found


def _whole(surface: str) -> Mention:
    return Mention(0, len(surface), surface)
