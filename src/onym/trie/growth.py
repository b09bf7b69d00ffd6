"""Growing a packed trie level by level: the names that reach a level are sorted by (node, next token), all at once.

The distinct keys are the nodes of the next level, and their order is the breadth-first one. No object is made per node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from onym.errors import InputError, LimitError
from onym.store.artefact.arrays import Ragged
from onym.trie.columns import MAX_NAME_TOKENS, MAX_NODES, Columns, token_type


def grow(tokens: Ragged, eos: int, vocabulary: int) -> Columns:
    """Return the columns of the trie over `tokens`, each list of which is followed by `eos`; a name is its position there."""
    require_tokens(tokens, eos, vocabulary)
    levels = _Levels(len(tokens), token_type(vocabulary))
    lengths: npt.NDArray[Any] = np.diff(tokens.offsets.astype(np.int64))
    starts = tokens.offsets[:-1].astype(np.int64)
    names = np.arange(len(tokens), dtype=np.uint32)  # those that go on, in the order of their nodes
    nodes = np.zeros(len(tokens), dtype=np.uint32)  # the node of each, counted within its level
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
    """Refuse names that are too long, and tokens that the vocabulary does not have or that end a name before its end."""
    if not 0 <= eos < vocabulary <= MAX_NODES:
        raise InputError("trie-tokens", f"the end token {eos} is not one of a vocabulary of {vocabulary:,}")
    if len(tokens) and int(np.diff(tokens.offsets.astype(np.int64)).max()) > MAX_NAME_TOKENS:
        where = f"name {int(np.diff(tokens.offsets.astype(np.int64)).argmax()):,}"
        fix = "leave it out of the knowledge base: max_name_length of the recipe"
        raise LimitError("limit-trie", f"a name has more than {MAX_NAME_TOKENS:,} tokens", where=where, fix=fix)
    if len(tokens.values) and not 0 <= int(tokens.values.min()) <= int(tokens.values.max()) < vocabulary:
        fix = "use the tokenizer of the model"
        raise InputError("trie-tokens", f"a token is not one of a vocabulary of {vocabulary:,}", fix=fix)
    if bool((tokens.values == eos).any()):
        position = int((tokens.values == eos).argmax())
        where = f"name {int(np.searchsorted(tokens.offsets, position, side='right')) - 1:,}"
        raise InputError("trie-tokens", "a name holds the token that ends names", where=where, fix="leave the name out")


class _Levels:
    """The nodes made so far, one array per level."""

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
        """Add the nodes of the sorted keys; return the names that go on, and their nodes."""
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
            raise LimitError("limit-trie", f"the trie has more than {MAX_NODES:,} nodes", fix="build it of fewer names")
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
            tokens=_joined(self._tokens),
            first=first,
            low=_joined(self._low),
            high=_joined(self._high),
            height=_heights(first, sizes),
            names=self._names,
        )


def _joined(levels: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the levels as one array, and let go of them."""
    whole = np.concatenate(levels)
    levels.clear()
    return whole


def _heights(first: npt.NDArray[np.uint32], sizes: list[int]) -> npt.NDArray[np.uint16]:
    """Return for each node the edges of the longest path below it, from the lowest level up."""
    heights = np.zeros(len(first) - 1, dtype=np.uint16)
    below = len(heights)
    start = below - sizes[-1]
    for size in reversed(sizes[:-1]):
        end, start, below = start, start - size, start
        inner = np.flatnonzero(first[start:end] < first[start + 1 : end + 1]) + start
        children = first[inner].astype(np.int64) - below
        heights[inner] = np.maximum.reduceat(heights[below : int(first[end])], children) + 1
    return heights
