"""PackedTrie: a prefix tree of all tokenised names of a knowledge base in flat arrays, in memory or memory-mapped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from onym.errors import InputError, LimitError
from onym.store.arrays import Ragged, corrupt, span_of

MAX_NAME_TOKENS = 65_534  # maximum tokens of a name, so that heights (which include the end token) fit into 16 bits
MAX_NODES = 2**32 - 1


class Columns(NamedTuple):
    """Columns of a trie. Node *i* has the children `first[i]:first[i + 1]`; `names[low[i]:high[i]]` are the names below it."""

    tokens: npt.NDArray[Any]  # token that leads to a node, 0 for the root; uint16 if the vocabulary fits, else uint32
    first: npt.NDArray[np.uint32]  # first child of each node; length: number of nodes + 1
    low: npt.NDArray[np.uint32]
    high: npt.NDArray[np.uint32]
    height: npt.NDArray[np.uint16]  # number of edges of the longest path down from a node
    names: npt.NDArray[np.uint32]  # name ids, sorted lexicographically by tokens


def token_type(vocabulary: int) -> np.dtype[Any]:
    """Return the smallest dtype for all tokens of a vocabulary.

    >>> token_type(50_265), token_type(85_401)
    (dtype('uint16'), dtype('uint32'))
    """
    return np.dtype(np.uint16 if vocabulary <= 2**16 else np.uint32)


class Restriction:
    """Restricts a trie to wanted names without rebuilding it; prefix sums show which nodes have wanted names below them.

    >>> from onym.store.arrays import Ragged
    >>> from onym.methods.generative.trie.packed import PackedTrie
    >>> trie = PackedTrie.build(Ragged(np.array([0, 1, 2]), np.array([7, 8])), eos=2, vocabulary=10)
    >>> seen = trie.restriction(np.array([False, True]))
    >>> seen.allows(np.array([trie.child(0, 7), trie.child(0, 8)])).tolist()
    [False, True]
    """

    __slots__ = ("_columns", "_is_wanted", "_wanted_before")

    def __init__(self, columns: Columns, is_wanted: npt.NDArray[np.bool_]) -> None:
        if is_wanted.dtype != np.bool_ or (len(columns.names) and int(columns.names.max()) >= len(is_wanted)):
            raise InputError("trie-restriction", "a restriction must be a Boolean mask with an entry per name of the KB")
        self._columns, self._is_wanted = columns, is_wanted
        self._wanted_before = np.zeros(len(columns.names) + 1, dtype=np.uint32)
        np.cumsum(is_wanted[columns.names], out=self._wanted_before[1:])

    def __len__(self) -> int:
        """Return the number of wanted names."""
        return int(self._wanted_before[-1])

    def allows(self, nodes: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Return a mask of the nodes that have a wanted name below them."""
        nodes = np.asarray(nodes)
        low, high = self._columns.low[nodes], self._columns.high[nodes]
        if nodes.size and max(int(low.max()), int(high.max())) > len(self._columns.names):
            raise corrupt("a node has a name range outside the trie", "the trie")
        before: npt.NDArray[Any] = self._wanted_before[low]
        return np.asarray(self._wanted_before[high] > before)

    def names_at(self, node: int) -> npt.NDArray[np.uint32]:
        """Return the ids of the wanted names that end at a node."""
        is_leaf = int(self._columns.first[node]) == int(self._columns.first[node + 1])
        return self.names_below(node) if is_leaf else self._columns.names[:0]

    def names_below(self, node: int) -> npt.NDArray[np.uint32]:
        """Return the ids of the wanted names with the node's prefix, sorted by tokens."""
        names = self._columns.names[int(self._columns.low[node]) : int(self._columns.high[node])]
        return names[self._is_wanted[names]]


def grow(tokens: Ragged, eos: int, vocabulary: int) -> Columns:
    """Build the columns of a trie, level by level. `tokens` has the tokens of each name, without `eos`."""
    require_tokens(tokens, eos, vocabulary)
    levels = _Levels(len(tokens), token_type(vocabulary))
    lengths: npt.NDArray[Any] = np.diff(tokens.offsets.astype(np.int64))
    starts = tokens.offsets[:-1].astype(np.int64)
    names = np.arange(len(tokens), dtype=np.uint32)  # names whose end token is not added yet, in the order of their nodes
    nodes = np.zeros(len(tokens), dtype=np.uint32)  # the node of each name, numbered within its level
    depth = 0
    while len(names):
        token = np.full(len(names), eos, dtype=np.uint64)
        goes_on = np.flatnonzero(lengths[names] > depth)
        token[goes_on] = tokens.values[starts[names[goes_on]] + depth]
        token += nodes * np.uint64(vocabulary)
        order = np.argsort(token, kind="stable")
        names, nodes = levels.add(token[order], names[order], eos, vocabulary)
        depth += 1
    return levels.columns()


def require_tokens(tokens: Ragged, eos: int, vocabulary: int) -> None:
    """Raise if a name is too long, if a token is outside the vocabulary, or if a name contains `eos`."""
    if not 0 <= eos < vocabulary <= MAX_NODES:
        raise InputError("trie-tokens", f"the end token {eos} is outside the vocabulary of {vocabulary:,} tokens")
    if len(tokens) and int(np.diff(tokens.offsets.astype(np.int64)).max()) > MAX_NAME_TOKENS:
        where = f"name {int(np.diff(tokens.offsets.astype(np.int64)).argmax()):,}"
        fix = "drop long names from the knowledge base with max_name_length in the recipe"
        raise LimitError("limit-trie", f"a name has more than {MAX_NAME_TOKENS:,} tokens", where=where, fix=fix)
    if len(tokens.values) and not 0 <= int(tokens.values.min()) <= int(tokens.values.max()) < vocabulary:
        fix = "use the tokenizer of the model"
        raise InputError("trie-tokens", f"a token is outside the vocabulary of {vocabulary:,} tokens", fix=fix)
    if bool((tokens.values == eos).any()):
        position = int((tokens.values == eos).argmax())
        where = f"name {int(np.searchsorted(tokens.offsets, position, side='right')) - 1:,}"
        raise InputError("trie-tokens", "a name contains the end token", where=where, fix="drop this name")


class _Levels:
    """The nodes built so far, one array per level."""

    def __init__(self, names: int, tokens: np.dtype[Any]) -> None:
        self._type = tokens
        self._tokens: list[npt.NDArray[Any]] = [np.zeros(1, dtype=tokens)]
        self._widths: list[npt.NDArray[Any]] = []
        self._low: list[npt.NDArray[Any]] = [np.zeros(1, dtype=np.uint32)]
        self._high: list[npt.NDArray[Any]] = [np.full(1, names, dtype=np.uint32)]
        self._names = np.zeros(names, dtype=np.uint32)
        self._count = 1

    def add(
        self, keys: npt.NDArray[np.uint64], names: npt.NDArray[np.uint32], eos: int, vocabulary: int
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """Add a level with a node for each distinct key; return the names that do not end at this level, and their nodes."""
        is_first = np.ones(len(keys), dtype=bool)
        np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
        begins = np.flatnonzero(is_first)
        parents, tokens = np.divmod(keys[begins], np.uint64(vocabulary))
        parents = parents.astype(np.int64)
        widths = np.bincount(parents, minlength=len(self._tokens[-1]))
        eldest = np.cumsum(widths) - widths  # the first child of each parent
        low = self._low[-1][parents] + begins - begins[eldest[parents]]
        sizes = np.diff(np.append(begins, len(keys)))
        self._append(tokens, widths, low, low + sizes)
        nodes = np.repeat(np.arange(len(begins), dtype=np.uint32), sizes)
        is_end = tokens[nodes] == eos
        ends = np.flatnonzero(is_end)
        self._names[low[nodes[ends]] + ends - begins[nodes[ends]]] = names[ends]
        return names[~is_end], nodes[~is_end]

    def _append(
        self, tokens: npt.NDArray[Any], widths: npt.NDArray[Any], low: npt.NDArray[Any], high: npt.NDArray[Any]
    ) -> None:
        self._count += len(tokens)
        if self._count > MAX_NODES:
            raise LimitError("limit-trie", f"the trie has more than {MAX_NODES:,} nodes", fix="use a smaller knowledge base")
        self._tokens.append(tokens.astype(self._type))
        self._widths.append(widths.astype(np.uint32))
        self._low.append(low.astype(np.uint32))
        self._high.append(high.astype(np.uint32))

    def columns(self) -> Columns:
        sizes = [len(level) for level in self._tokens]
        widths = np.concatenate([*self._widths, np.zeros(sizes[-1], dtype=np.uint32)])
        first = np.ones(len(widths) + 1, dtype=np.uint32)
        np.cumsum(widths, out=first[1:])
        first[1:] += 1
        return Columns(
            tokens=_join_levels(self._tokens),
            first=first,
            low=_join_levels(self._low),
            high=_join_levels(self._high),
            height=_heights(first, sizes),
            names=self._names,
        )


def _join_levels(levels: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Concatenate the levels, and clear the list to free memory."""
    whole = np.concatenate(levels)
    levels.clear()
    return whole


def _heights(first: npt.NDArray[np.uint32], sizes: list[int]) -> npt.NDArray[np.uint16]:
    """Return the height of each node, computed from the lowest level up."""
    heights = np.zeros(len(first) - 1, dtype=np.uint16)
    below = len(heights)
    start = below - sizes[-1]
    for size in reversed(sizes[:-1]):
        end, start, below = start, start - size, start
        inner = np.flatnonzero(first[start:end] < first[start + 1 : end + 1]) + start
        children = first[inner].astype(np.int64) - below
        heights[inner] = np.maximum.reduceat(heights[below : int(first[end])], children) + 1
    return heights


ROOT = 0


class PackedTrie:
    """A prefix tree whose nodes are integers in breadth-first order: 0 is the root, siblings are adjacent and sorted by token.

    The path of a name is its tokens and then the end token, which leads to a leaf with the ids of all names with these tokens.
    Every step is checked: children must come after their parent, so a traversal ends even if the arrays are corrupt.

    >>> names = Ragged(np.array([0, 2, 3, 5]), np.array([7, 8, 7, 7, 8]))  # the first and the third are equal
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
        self.digest = digest  # digest of the artefact; empty for a trie in memory
        self._kb_names = kb_names  # number of names in the knowledge base; None if name ids need not be checked on access
        # Plain ndarray views, because reading single entries of a `memmap` is many times slower.
        plain = Columns(*(column.view(np.ndarray) for column in columns))
        self.tokens, self.first, self.low, self.high, self.height, self.names = plain
        self._bounds = memoryview(self.first)  # type: ignore[arg-type]  # gives plain integers, faster than numpy

    @classmethod
    def build(cls, tokens: Ragged, eos: int, vocabulary: int, name_ids: npt.NDArray[Any] | None = None) -> Self:
        """Build a trie from the tokens of names, without `eos`. `name_ids` are the ids of the names, by default 0, 1, 2 ..."""
        columns = grow(tokens, eos, vocabulary)
        if name_ids is not None:
            if len(name_ids) != len(tokens):
                raise InputError("trie-tokens", f"got {len(name_ids):,} name ids for {len(tokens):,} names")
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
        """The number of nodes, including the root."""
        return len(self.tokens)

    @property
    def nbytes(self) -> int:
        """The total size of all arrays in bytes."""
        return sum(column.nbytes for column in self.columns)

    def children(self, node: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Return the tokens that may follow a node, sorted, and the nodes that they lead to."""
        start, end = self.span(node)
        return self._require_known(self.tokens[start:end]), np.arange(start, end)

    def span(self, node: int) -> tuple[int, int]:
        """Return the range of a node's children as (first, last + 1); for a leaf, the range is empty.

        >>> trie = PackedTrie.build(Ragged(np.array([0, 1, 2]), np.array([7, 8])), eos=2, vocabulary=10)
        >>> trie.span(0), trie.span(3)
        ((1, 3), (5, 5))
        """
        start, end = span_of(self._bounds, node, self.node_count, self._where)
        if start <= node:
            raise corrupt("a child comes before its parent", self._where)
        return start, end

    def children_of(self, nodes: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Return the children of many nodes as three arrays: the index of the parent in `nodes`, the token, the child node.

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
        return rows, self._require_known(self.tokens[found]), found

    def _spans(self, nodes: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the child ranges of many nodes; raise IntegrityError if the nodes are not in breadth-first order."""
        first, count = self.first, self.node_count
        starts, ends = first[nodes].astype(np.int64), first[nodes + 1].astype(np.int64)
        before, after = first[np.maximum(nodes - 1, 0)], first[np.minimum(nodes + 2, count)]
        if not bool(((nodes < starts) & (before <= starts) & (starts <= ends) & (ends <= after) & (after <= count)).all()):
            raise corrupt("a child comes before its parent", self._where)
        return starts, ends

    def _require_known(self, tokens: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the tokens, after checking that they are in the vocabulary, because they index the model's logits."""
        if len(tokens) and int(tokens.max()) >= self.vocabulary:
            raise corrupt("a token is outside the vocabulary", self._where)
        return tokens

    @property
    def _where(self) -> str:
        return f"the trie {self.digest}".strip()

    def child(self, node: int, token: int) -> int:
        """Return the child node that a token leads to, or -1 if there is none."""
        start, end = self.span(node)
        if not 0 <= token < self.vocabulary:
            return -1
        child = start + int(np.searchsorted(self.tokens[start:end], self.tokens.dtype.type(token)))
        return child if child < end and int(self.tokens[child]) == token else -1

    def step(self, nodes: npt.NDArray[Any], tokens: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return, for each node and token, the child node that the token leads to, or -1. For a node -1, return -1.

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
        """Return the leaf of a name given by its tokens (without the end token), or -1."""
        node = ROOT
        for token in (*sequence, self.eos):
            node = self.child(node, int(token))
            if node < 0:
                return -1
        return node if bool(self.is_leaf(node)) else -1

    def is_leaf(self, nodes: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Return a mask of the nodes that are leaves, where names end."""
        nodes = np.asarray(nodes)
        return np.asarray(self.first[nodes] == self.first[nodes + 1])

    def names_at(self, node: int) -> npt.NDArray[np.uint32]:
        """Return the sorted ids of the names that end at a node; empty unless the node is a leaf."""
        return self.names_below(node) if bool(self.is_leaf(node)) else self.names[:0]

    def names_below(self, node: int) -> npt.NDArray[np.uint32]:
        """Return the ids of all names with the node's prefix, sorted by tokens."""
        low, high = int(self.low[node]), int(self.high[node])
        names = self.names[low:high]
        if not low <= high <= len(self.names) or (self._kb_names is not None and (names >= self._kb_names).any()):
            raise corrupt("a node has name ids outside the knowledge base", self._where)
        return names

    def chain(self, node: int) -> npt.NDArray[np.int64]:
        """Return the unbranched path below a node, in which each node is the only child of the previous node.

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
        """Return a restriction of this trie to the names for which the mask `is_wanted` is True. The trie is not rebuilt."""
        return Restriction(self.columns, is_wanted)
