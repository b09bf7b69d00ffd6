"""Restriction: a trie seen through a choice of its names. It costs one running sum over the names, and no new tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from onym.errors import InputError
from onym.store.artefact.arrays import corrupt
from onym.trie.columns import Columns


class Restriction:
    """Which nodes still lead to a wanted name: those with more wanted names before their end than before their beginning.

    >>> from onym.store.artefact.arrays import Ragged
    >>> from onym.trie.packed import PackedTrie
    >>> trie = PackedTrie.build(Ragged(np.array([0, 1, 2]), np.array([7, 8])), eos=2, vocabulary=10)
    >>> seen = trie.restriction(np.array([False, True]))
    >>> seen.allows(np.array([trie.child(0, 7), trie.child(0, 8)])).tolist()
    [False, True]
    """

    __slots__ = ("_columns", "_is_wanted", "_wanted_before")

    def __init__(self, columns: Columns, is_wanted: npt.NDArray[np.bool_]) -> None:
        if is_wanted.dtype != np.bool_ or (len(columns.names) and int(columns.names.max()) >= len(is_wanted)):
            raise InputError("trie-restriction", "a restriction needs true or false for every name of the knowledge base")
        self._columns, self._is_wanted = columns, is_wanted
        self._wanted_before = np.zeros(len(columns.names) + 1, dtype=np.uint32)
        np.cumsum(is_wanted[columns.names], out=self._wanted_before[1:])

    def __len__(self) -> int:
        """Return how many names are wanted."""
        return int(self._wanted_before[-1])

    def allows(self, nodes: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Tell which nodes have a wanted name below them."""
        nodes = np.asarray(nodes)
        low, high = self._columns.low[nodes], self._columns.high[nodes]
        if nodes.size and max(int(low.max()), int(high.max())) > len(self._columns.names):
            raise corrupt("the names below a node are not names of the trie", "the trie")
        before: npt.NDArray[Any] = self._wanted_before[low]
        return np.asarray(self._wanted_before[high] > before)

    def names_at(self, node: int) -> npt.NDArray[np.uint32]:
        """Return the ids of the wanted names that end at a node."""
        is_leaf = int(self._columns.first[node]) == int(self._columns.first[node + 1])
        return self.names_below(node) if is_leaf else self._columns.names[:0]

    def names_below(self, node: int) -> npt.NDArray[np.uint32]:
        """Return the ids of the wanted names that begin as the node does, in the order of their tokens."""
        names = self._columns.names[int(self._columns.low[node]) : int(self._columns.high[node])]
        return names[self._is_wanted[names]]
