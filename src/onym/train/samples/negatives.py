"""Negatives of a mention: hard ones, near and wrong, mined again after each epoch, and random ones (Bhowmik et al., 3.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.train.samples.mention_pairs import Query
from onym.train.samples.order import draw_rows

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
_STREAM = 7
_ALL = 2**64  # random numbers are below it


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
        drawn = draw_rows(self._seed, np.array([step]), 2 * len(mentions) + self._random * len(mentions), stream=_STREAM)[0]
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
