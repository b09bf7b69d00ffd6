"""Names that stand beside the right one: those near and wrong, mined again and again, and random ones (Bhowmik et al., 3.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.train.samples.mention_pairs import Asked
from onym.train.samples.order import draw_rows

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
_STREAM = 7
_ALL = 2**64  # random numbers are below it


class Rivals:
    """Chooses names for mentions. `pools` are the names nearest to each mention at the start, by their places.

    *Shape:* pools (mentions, pool); a place without a name has -1.
    """

    def __init__(
        self,
        asked: Sequence[Asked],
        kb: KnowledgeBase,
        pools: Ints,
        *,
        hard: int,
        random: int,
        similar: float = 0.5,
        seed: int = 0,
    ) -> None:
        self.asked, self.kb, self.pools = asked, kb, pools
        self._hard, self._random, self._similar, self._seed = hard, random, similar, seed
        self._right = [frozenset(each.names) for each in asked]
        self.near: list[list[int]] = [self._wrong(row, pools[row].tolist()) for row in range(len(asked))]

    @property
    def names(self) -> Ints:
        """The names of all pools, each once, in their order."""
        return np.unique(self.pools[self.pools >= 0]).astype(np.int64)

    def mine(self, mentions: Floats, vectors: Floats) -> None:
        """Order each mention's pool anew. *Shape:* mentions (mentions, width), vectors (names, width) of `names`."""
        rows = np.searchsorted(self.names, np.maximum(self.pools, 0))
        for row, (mention, pool) in enumerate(zip(mentions, self.pools, strict=True)):
            scores = np.where(pool >= 0, vectors[np.minimum(rows[row], len(vectors) - 1)] @ mention, -np.inf)
            best = np.argsort(-scores, kind="stable")
            self.near[row] = self._wrong(row, pool[best].tolist())

    def chosen(self, mentions: Sequence[int], step: int) -> list[int]:
        """Return the names to hold these mentions against at a step, each once: right ones, wrong ones, random ones."""
        drawn = draw_rows(self._seed, np.array([step]), 2 * len(mentions) + self._random * len(mentions), stream=_STREAM)[0]
        found: list[int] = []
        for at, mention in enumerate(mentions):
            found.append(self._target(self.asked[mention], int(drawn[2 * at]), int(drawn[2 * at + 1])))
            found += self.near[mention]
        found += [int(draw) % len(self.kb.names) for draw in drawn[2 * len(mentions) :]]
        return list(dict.fromkeys(found))

    def right(self, mentions: Sequence[int], names: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Return which names are names of what each mention means. *Shape:* (mentions, names)."""
        return np.array([[name in self._right[mention] for name in names] for mention in mentions], dtype=np.bool_).reshape(
            len(mentions), len(names)
        )

    def _target(self, asked: Asked, chance: int, number: int) -> int:
        return asked.best if chance < self._similar * _ALL else asked.names[number % len(asked.names)]

    def _wrong(self, row: int, names: Sequence[int]) -> list[int]:
        wrong = [name for name in names if name >= 0 and name not in self._right[row]]
        return wrong[: self._hard]
