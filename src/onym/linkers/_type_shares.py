"""Do a concept's semantic types agree with the type of a mention? The mentions of a memory tell, whatever types are called."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onym.linkers._memory import KbMemory
from onym.linkers._pool import Floats, Ints
from onym.store.artefact.arrays import Ragged


@dataclass(frozen=True, slots=True)
class TypeShares:
    """How well a concept's semantic types, or groups, agree with the type of a mention, as the memory's mentions tell.

    For a type of mentions and a semantic type: the logarithm of the share of such mentions that meant a concept with it.
    """

    kinds: Ragged
    shares: dict[str, Floats]

    @classmethod
    def of(cls, kinds: Ragged, size: int, memory: KbMemory) -> TypeShares:
        """Learn the shares; `kinds` are the semantic types of each concept, of which there are `size`."""
        is_known = memory.rows >= 0
        owned = kinds.take(memory.rows[is_known])
        lengths, shares = np.diff(owned.offsets), {}
        for name, counts in memory.by_type().items():
            known = counts[is_known]
            found = np.bincount(owned.values, np.repeat(known, lengths), minlength=size)
            shares[name] = np.log10((found + 0.5) / (known.sum() + 1))
        return cls(kinds, shares)

    def of_concepts(self, name: str, concepts: Ints) -> Floats:
        """Return the share of the best semantic type of each concept, NaN where it has none.

        All are NaN for a type of mentions that the memory does not have.
        """
        best = np.full(len(concepts), np.nan)
        if name and name in self.shares:
            owned = self.kinds.take(concepts)
            has_any = np.diff(owned.offsets) > 0
            if has_any.any():
                best[has_any] = np.maximum.reduceat(self.shares[name][owned.values], owned.offsets[:-1][has_any])
        return best
