"""Validates the columns of a trie read from disk, so that no traversal can leave the arrays or loop forever."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onym.errors import IntegrityError
from onym.methods.generative.trie.packed import Columns, PackedTrie, token_type


def require_sound(trie: PackedTrie, names: int, where: str) -> None:
    """Raise IntegrityError unless the columns are a valid trie of `names` names."""
    if what := next(_problems(trie, names), ""):
        raise IntegrityError("artefact-corrupt", what, where=where, fix="rebuild the trie")


def _problems(trie: PackedTrie, names: int) -> Iterator[str]:
    """Yield a description of each problem. Each check assumes that all previous checks passed."""
    columns = trie.columns
    if not _has_types(trie) or not _has_lengths(columns):
        yield "the columns of the trie have inconsistent lengths or types"
    if not _is_breadth_first(columns):
        yield "the nodes of the trie are not in breadth-first order"
    if len(columns.names) != names or (names and int(columns.names.max()) >= names):
        yield "the trie has name ids outside the knowledge base"
    if not _has_sorted_children(trie):
        yield "the children of a node are not sorted by token"
    if not _ends_at_leaves(trie):
        yield "a name of the trie does not end at a leaf"
    if not _shares_names_out(columns):
        yield "the names below a node differ from those below its children"
    if not _has_heights(columns):
        yield "the heights in the trie do not match its paths"


def _has_types(trie: PackedTrie) -> bool:
    found = tuple(column.dtype for column in trie.columns)
    long, short = np.dtype(np.uint32), np.dtype(np.uint16)
    return found == (token_type(trie.vocabulary), long, long, long, short, long)


def _has_lengths(columns: Columns) -> bool:
    count = len(columns.tokens)
    return (
        count > 0 and len(columns.first) == count + 1 and len(columns.low) == len(columns.high) == len(columns.height) == count
    )


def _is_breadth_first(columns: Columns) -> bool:
    """Return whether nodes are numbered breadth-first: children are adjacent and in the order of their parents."""
    first, count = columns.first, len(columns.tokens)
    ascends = int(first[0]) == 1 and int(first[-1]) == count and not bool((first[1:] < first[:-1]).any())
    return ascends and bool((first[:-1] > np.arange(count, dtype=np.uint32)).all())


def _has_sorted_children(trie: PackedTrie) -> bool:
    tokens = trie.tokens
    falls = np.flatnonzero(tokens[2:] <= tokens[1:-1]) + 2  # nodes that must be the first child of their parent
    is_eldest = np.zeros(len(tokens) + 1, dtype=bool)
    is_eldest[trie.first[:-1]] = True
    return int(tokens.max()) < trie.vocabulary and bool(is_eldest[falls].all())


def _ends_at_leaves(trie: PackedTrie) -> bool:
    is_leaf = trie.first[:-1] == trie.first[1:]
    return trie.eos < trie.vocabulary and bool((is_leaf[1:] == (trie.tokens[1:] == trie.eos)).all())


def _shares_names_out(columns: Columns) -> bool:
    """Return whether each node has names, and the names of an inner node are the names of its children, in order."""
    first, low, high, count = columns.first, columns.low, columns.high, len(columns.tokens)
    if int(low[0]) != 0 or int(high[0]) != len(columns.names):
        return False
    if count == 1:
        return not len(columns.names)
    if not bool((low < high).all()):
        return False
    inner = np.flatnonzero(first[:-1] < first[1:])
    eldest, youngest = first[inner], first[inner + 1] - 1
    is_eldest = np.zeros(count, dtype=bool)
    is_eldest[eldest] = True
    goes_on = is_eldest[2:] | (low[2:] == high[1:-1])
    return bool((low[eldest] == low[inner]).all() and (high[youngest] == high[inner]).all() and goes_on.all())


def _has_heights(columns: Columns) -> bool:
    first, height = columns.first, columns.height
    is_inner = first[:-1] < first[1:]
    if bool((height[~is_inner] != 0).any()):
        return False
    inner = np.flatnonzero(is_inner)
    below = np.maximum.reduceat(height, first[inner]) if len(inner) else height[:0]
    return bool((height[inner] == below.astype(np.uint32) + 1).all())
