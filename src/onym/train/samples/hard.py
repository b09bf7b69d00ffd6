"""Concepts that an encoder takes for a mention's own, put into the same batch as the mention: BioSyn, ANCE.

Each mention is followed by a pair of names of every such concept. A pair, and not a single name, so that all that holds of a
batch of pairs goes on to hold; and the wrong concept's names are drawn together, too.
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
from onym.train.samples.order import draws
from onym.types import Document, Mention

Wrong = tuple[int, int]
"""A concept that a mention does not mean, and the name of it that is near, both by their places."""
_STREAM = 6
_SPARE = 8  # concepts asked for beyond those needed: some are near by a name that is right as well


@dataclass(frozen=True)
class HardPairs:
    """`count` pairs: every mention of `pairs` with a name of its own, then its `hard` wrong concepts, each with two names.

    `wrong` has those of each mention, in the order of `pairs.asked`; one that has too few is itself there again instead.
    """

    pairs: MentionPairs
    wrong: Sequence[Sequence[Wrong]]
    kb: KnowledgeBase
    hard: int
    seed: int = 0
    count: int = 0

    @property
    def epoch(self) -> int:
        """How many pairs there are before the first mention comes again."""
        return self.pairs.epoch * (1 + self.hard)

    def __len__(self) -> int:
        return self.count

    def counted(self, count: int) -> HardPairs:
        """Return the same pairs, but so many."""
        return replace(self, count=count)

    def __getitems__(self, places: Sequence[int]) -> list[Positive]:
        mentions = [place // (1 + self.hard) for place in places]
        rows = self.pairs.rows(np.asarray(mentions, dtype=np.int64)).tolist()
        found = self.pairs.__getitems__(mentions)
        for at, (place, row) in enumerate(zip(places, rows, strict=True)):
            number = place % (1 + self.hard) - 1
            if 0 <= number < len(self.wrong[row]):
                found[at] = self._pair(self.wrong[row][number], place)
        return found

    def _pair(self, wrong: Wrong, place: int) -> Positive:
        concept, name = wrong
        others = [other for other in self.kb.names_of(concept).tolist() if other != name] or [name]
        other = others[draws(self.seed, place, len(others), stream=_STREAM)]
        return Positive(self.kb.names[name], self.kb.names[other], concept, (name, other))


def mine(linker: DenseLinker, pairs: MentionPairs, hard: int) -> list[list[Wrong]]:
    """Return for each mention of `pairs` the nearest concepts that it does not mean, with the names that are near."""
    kb = linker.kb
    gold = [set(each.concepts) for each in pairs.asked]
    documents = (Document(str(row), each.surface, (_whole(each.surface),)) for row, each in enumerate(pairs.asked))
    linked = linker.link(documents, top_k=hard + max(map(len, gold), default=0) + _SPARE)
    found = []
    for meant, item in zip(gold, linked, strict=True):
        near = ((kb.concept_ids.find(each.concept_id), kb.names.find(each.name)) for each in item.links[0].candidates)
        # A name that the mention's own concept has as well is no mistake.
        wrong = ((concept, name) for concept, name in near if meant.isdisjoint(kb.name_concepts[name].tolist()))
        found.append(list(islice(wrong, hard)))
    return found


def _whole(surface: str) -> Mention:
    return Mention(0, len(surface), surface)
