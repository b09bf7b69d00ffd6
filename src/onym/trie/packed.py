"""PackedTrie: every tokenised name of a knowledge base in one prefix tree of flat arrays, built or mapped from disk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from onym.errors import InputError
from onym.store.artefact.arrays import Ragged, corrupt, span_of
from onym.trie.columns import Columns
from onym.trie.growth import grow
from onym.trie.restriction import Restriction

ROOT = 0


class PackedTrie:
    """A prefix tree whose nodes are numbers: breadth-first, 0 the root, the children of a node side by side by token.

    A name is a path of its tokens and the token that ends it; the node there is a leaf, and keeps the ids of the names.
    Whatever the arrays hold, a step is checked: children are nodes behind their parent, so that every walk ends.

    >>> names = Ragged(np.array([0, 2, 3, 5]), np.array([7, 8, 7, 7, 8]))  # the first and the third are alike
    >>> trie = PackedTrie.build(names, eos=2, vocabulary=10)
    >>> leaf = trie.find([7, 8])
    >>> trie.names_at(leaf).tolist(), trie.names_below(0).tolist()
    ([0, 2], [1, 0, 2])
    >>> tokens, nodes = trie.children(trie.child(0, 7))
    >>> tokens.tolist(), trie.is_leaf(nodes).tolist()
    ([2, 8], [True, False])
    """

    __slots__ = (
        *("_bounds", "_kb_names"),
        *("digest", "eos", "first", "height", "high", "low", "names", "tokens", "vocabulary"),
    )

    def __init__(self, columns: Columns, eos: int, vocabulary: int, digest: str = "", *, kb_names: int | None = None) -> None:
        self.eos, self.vocabulary = eos, vocabulary
        self.digest = digest  # of the artefact; empty for a trie that was only built
        self._kb_names = kb_names  # how many names the knowledge base has, if the ids of names are still to be checked
        # A plain view of the mapped memory: reading one entry of a `memmap` takes many times as long.
        plain = Columns(*(column.view(np.ndarray) for column in columns))
        self.tokens, self.first, self.low, self.high, self.height, self.names = plain
        self._bounds = memoryview(self.first)  # type: ignore[arg-type]  # gives plain integers, faster than numpy

    @classmethod
    def build(cls, tokens: Ragged, eos: int, vocabulary: int, name_ids: npt.NDArray[Any] | None = None) -> Self:
        """Build the trie of the names in `tokens`, without `eos`; their ids are their positions, or else `name_ids`."""
        columns = grow(tokens, eos, vocabulary)
        if name_ids is not None:
            if len(name_ids) != len(tokens):
                raise InputError("trie-tokens", f"{len(name_ids):,} ids for {len(tokens):,} names")
            columns = columns._replace(names=np.asarray(name_ids, dtype=np.uint32)[columns.names])
        return cls(columns, eos, vocabulary)

    def __repr__(self) -> str:
        return f"<PackedTrie {self.digest or 'in memory'}: {len(self.names):,} names, {self.node_count:,} nodes>"

    @property
    def columns(self) -> Columns:
        """All arrays."""
        return Columns(self.tokens, self.first, self.low, self.high, self.height, self.names)

    @property
    def node_count(self) -> int:
        """How many nodes there are, the root among them."""
        return len(self.tokens)

    @property
    def nbytes(self) -> int:
        """How many bytes all arrays have together."""
        return sum(column.nbytes for column in self.columns)

    def children(self, node: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Return the tokens that may follow at a node, ascending, and the nodes that they lead to."""
        start, end = self.span(node)
        return self._known(self.tokens[start:end]), np.arange(start, end)

    def span(self, node: int) -> tuple[int, int]:
        """Return the first child of a node, and the node after its last; they are equal at a leaf.

        >>> trie = PackedTrie.build(Ragged(np.array([0, 1, 2]), np.array([7, 8])), eos=2, vocabulary=10)
        >>> trie.span(0), trie.span(3)
        ((1, 3), (5, 5))
        """
        start, end = span_of(self._bounds, node, self.node_count, self._where)
        if start <= node:
            raise corrupt("a child stands before its parent", self._where)
        return start, end

    def children_of(self, nodes: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Return the children of many nodes: for each, the position of its parent in `nodes`, its token, and itself.

        >>> trie = PackedTrie.build(Ragged(np.array([0, 1, 2]), np.array([7, 8])), eos=2, vocabulary=10)
        >>> rows, tokens, nodes = trie.children_of(np.array([1, 0]))
        >>> rows.tolist(), tokens.tolist(), nodes.tolist()
        ([0, 1, 1], [2, 7, 8], [3, 1, 2])
        """
        starts, ends = self._spans(np.asarray(nodes))
        widths = ends - starts
        rows = np.repeat(np.arange(len(widths)), widths)
        skipped = np.cumsum(widths) - widths
        found = np.arange(len(rows)) + (starts - skipped)[rows]
        return rows, self._known(self.tokens[found]), found

    def _spans(self, nodes: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the spans of many nodes, each between those of the nodes before and after it."""
        first, count = self.first, self.node_count
        starts, ends = first[nodes].astype(np.int64), first[nodes + 1].astype(np.int64)
        before, after = first[np.maximum(nodes - 1, 0)], first[np.minimum(nodes + 2, count)]
        if not bool(((nodes < starts) & (before <= starts) & (starts <= ends) & (ends <= after) & (after <= count)).all()):
            raise corrupt("the children of a node are not nodes behind it", self._where)
        return starts, ends

    def _known(self, tokens: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return tokens, which must be of the vocabulary: a model has a score for each of these alone."""
        if len(tokens) and int(tokens.max()) >= self.vocabulary:
            raise corrupt("a token is not one of the vocabulary", self._where)
        return tokens

    @property
    def _where(self) -> str:
        return f"the trie {self.digest}".strip()

    def child(self, node: int, token: int) -> int:
        """Return the node that a token leads to, or -1."""
        start, end = self.span(node)
        if not 0 <= token < self.vocabulary:
            return -1
        child = start + int(np.searchsorted(self.tokens[start:end], self.tokens.dtype.type(token)))
        return child if child < end and int(self.tokens[child]) == token else -1

    def step(self, nodes: npt.NDArray[Any], tokens: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return for each node the one that its token leads to, or -1; what is -1 already stays so.

        >>> trie = PackedTrie.build(Ragged(np.array([0, 1, 2]), np.array([7, 8])), eos=2, vocabulary=10)
        >>> trie.step(np.array([0, 0, -1]), np.array([8, 9, 8])).tolist()
        [2, -1, -1]
        """
        is_node = nodes >= 0
        known = np.where(is_node, nodes, 0)
        low, end = self._spans(known)
        high = end
        while bool((low < high).any()):
            middle = (low + high) >> 1
            is_below = (low < high) & (self.tokens[np.minimum(middle, self.node_count - 1)] < tokens)
            low, high = np.where(is_below, middle + 1, low), np.where(is_below, high, np.minimum(middle, high))
        is_there = is_node & (low < end) & (self.tokens[np.minimum(low, self.node_count - 1)] == tokens)
        return np.where(is_there, low, -1)

    def find(self, sequence: Iterable[int]) -> int:
        """Return the leaf of a name by its tokens, without the one that ends it, or -1."""
        node = ROOT
        for token in (*sequence, self.eos):
            node = self.child(node, int(token))
            if node < 0:
                return -1
        return node if bool(self.is_leaf(node)) else -1

    def is_leaf(self, nodes: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Tell which nodes end a name."""
        nodes = np.asarray(nodes)
        return np.asarray(self.first[nodes] == self.first[nodes + 1])

    def names_at(self, node: int) -> npt.NDArray[np.uint32]:
        """Return the ids of the names that end at a node: one or more at a leaf, ascending; none elsewhere."""
        return self.names_below(node) if bool(self.is_leaf(node)) else self.names[:0]

    def names_below(self, node: int) -> npt.NDArray[np.uint32]:
        """Return the ids of all names that begin as the node does, in the order of their tokens."""
        low, high = int(self.low[node]), int(self.high[node])
        names = self.names[low:high]
        if not low <= high <= len(self.names) or (self._kb_names is not None and (names >= self._kb_names).any()):
            raise corrupt("the names below a node are not names of the knowledge base", self._where)
        return names

    def chain(self, node: int) -> npt.NDArray[np.int64]:
        """Return the nodes below one that leave no choice: each the only child of the one before.

        >>> trie = PackedTrie.build(Ragged(np.array([0, 3]), np.array([7, 8, 9])), eos=2, vocabulary=10)
        >>> trie.chain(1).tolist()
        [2, 3, 4]
        """
        found = []
        start, end = self.span(node)
        while end - start == 1:
            found.append(start)
            start, end = self.span(start)
        return np.array(found, dtype=np.int64)

    def restriction(self, is_wanted: npt.NDArray[np.bool_]) -> Restriction:
        """Return the trie's restriction to the names that are wanted, one claim per name id; nothing is built again."""
        return Restriction(self.columns, is_wanted)
