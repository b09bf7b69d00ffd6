"""Hard negatives of mentions: concepts or names that the model confuses them with.

`HardPairs` adds them to batches of pairs (BioSyn, ANCE); `Negatives` ranks them again after each epoch (Bhowmik et al., 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.linkers.dense import DenseLinker
from onym.train.samples.base import Positive, draw, draw_rows
from onym.train.samples.mentions import MentionPairs, Query
from onym.types import Document, Mention

Wrong = tuple[int, int]
"""A concept that a mention does not mean, and its name that is near: a row and an id of the knowledge base."""
_PAIR_STREAM = 6
_SPARE = 8  # more concepts to search for: some are near by a name that is right as well
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
_NAME_STREAM = 7
_ALL = 2**64  # random numbers are below it


@dataclass(frozen=True)
class HardPairs:
    """`count` pairs: every mention of `pairs` with a name of its own, then its `hard` wrong concepts, each with two names.

    `wrong` has those of each mention, in the order of `pairs.queries`; a mention with too few of them is repeated instead.
    A wrong concept adds a pair, not a single name, so that a batch still consists of pairs.
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
        other = others[draw(self.seed, index, len(others), stream=_PAIR_STREAM)]
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


class Negatives:
    """Samples names for mentions. `pools` are the ids of the names nearest to each mention at the start.

    *Shape:* pools (mentions, pool), filled with -1.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        kb: KnowledgeBase,
        pools: Ints,
        *,
        hard: int,
        random: int,
        similar: float = 0.5,
        seed: int = 0,
    ) -> None:
        self.queries, self.kb, self.pools = queries, kb, pools
        self._hard, self._random, self._similar, self._seed = hard, random, similar, seed
        self._positives = [frozenset(each.names) for each in queries]
        self.hard: list[list[int]] = [self._wrong(row, pools[row].tolist()) for row in range(len(queries))]

    @property
    def names(self) -> Ints:
        """The ids of the names of all pools, each once, ascending."""
        return np.unique(self.pools[self.pools >= 0]).astype(np.int64)

    def mine(self, mentions: Floats, names: Floats) -> None:
        """Rank each mention's pool again. *Shape:* embeddings of mentions (mentions, dim) and of `self.names` (names, dim)."""
        rows = np.searchsorted(self.names, np.maximum(self.pools, 0))
        for row, (mention, pool) in enumerate(zip(mentions, self.pools, strict=True)):
            scores = np.where(pool >= 0, names[np.minimum(rows[row], len(names) - 1)] @ mention, -np.inf)
            best = np.argsort(-scores, kind="stable")
            self.hard[row] = self._wrong(row, pool[best].tolist())

    def sample(self, mentions: Sequence[int], step: int) -> list[int]:
        """Return the names to compare these mentions with at a step, each once: positives, hard and random negatives."""
        drawn = draw_rows(self._seed, np.array([step]), 2 * len(mentions) + self._random * len(mentions), stream=_NAME_STREAM)[
            0
        ]
        found: list[int] = []
        for at, mention in enumerate(mentions):
            found.append(self._positive(self.queries[mention], int(drawn[2 * at]), int(drawn[2 * at + 1])))
            found += self.hard[mention]
        found += [int(draw) % len(self.kb.names) for draw in drawn[2 * len(mentions) :]]
        return list(dict.fromkeys(found))

    def is_positive(self, mentions: Sequence[int], names: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Return which names are names of each mention's concepts. *Shape:* (mentions, names)."""
        return np.array([[name in self._positives[mention] for name in names] for mention in mentions], dtype=np.bool_).reshape(
            len(mentions), len(names)
        )

    def _positive(self, query: Query, chance: int, number: int) -> int:
        return query.best if chance < self._similar * _ALL else query.names[number % len(query.names)]

    def _wrong(self, row: int, names: Sequence[int]) -> list[int]:
        wrong = [name for name in names if name >= 0 and name not in self._positives[row]]
        return wrong[: self._hard]
