"""Evaluate gradient-boosted trees as tables of leaf masks, which takes a third of the time of walking down each tree.

Each tree has up to 32 leaves, one bit each. A value of a feature rules out the leaves behind the branches that it does not
take, in all trees at once: a table has these bits for each interval between the feature's thresholds, and for NaN. The bits
that the tables of all features leave are the leaves that a row reaches, one per tree. The idea is that of QuickScorer
(Lucchese et al. 2015).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Masks = npt.NDArray[np.uint32]
MAX_LEAVES = 32
"""The maximum number of leaves of a tree: each has a bit of a mask."""
_ALL = np.uint32(2**MAX_LEAVES - 1)
_MAX_CELLS = 16_000_000  # of all tables together, 4 bytes each; the largest trees that can be trained have 12.6 million
_ROWS_AT_ONCE = 256  # so that the masks of all trees stay in the processor's cache
_MANTISSA, _BIAS = 23, 127  # of a float32


@dataclass(frozen=True)
class Nodes:
    """The nodes of trees as columns: `roots` has one entry per tree, the others one per node. A leaf is its own child."""

    roots: npt.NDArray[Any]
    feature: npt.NDArray[Any]
    threshold: Floats
    left: npt.NDArray[Any]
    right: npt.NDArray[Any]
    is_left_missing: npt.NDArray[Any]
    value: Floats

    def why_too_large(self) -> str:
        """Return why the nodes, which must be trees, do not fit into tables of leaf masks; empty if they fit."""
        levels = list(islice(_levels(self), MAX_LEAVES))  # a tree with so many levels of inner nodes has too many leaves
        inner = np.concatenate([np.zeros(0, dtype=np.int64), *levels])
        if np.bincount(_owners(self, levels)[inner], minlength=1).max() >= MAX_LEAVES:
            return f"a tree has more than {MAX_LEAVES} leaves"
        features, thresholds = self.feature[inner], self.threshold[inner]
        rows = sum(len(np.unique(thresholds[features == feature])) + 2 for feature in np.unique(features))
        if rows * len(self.roots) > _MAX_CELLS:
            return f"{len(self.roots):,} trees with {rows:,} thresholds are too large"
        return ""


class _Table(NamedTuple):
    """The leaves that each value of a feature leaves. *Shape:* masks (thresholds + 2, trees); the last row is for NaN."""

    feature: int
    thresholds: Floats
    masks: Masks

    def rows_of(self, values: Floats) -> npt.NDArray[np.intp]:
        """Return the row of each value."""
        found = np.searchsorted(self.thresholds, values)  # a value on a threshold goes left
        found[np.isnan(values)] = len(self.thresholds) + 1
        return found


class LeafMasks(NamedTuple):
    """Trees as tables of leaf masks. *Shape:* leaves (trees,), values (trees * 32,)."""

    tables: list[_Table]
    leaves: Masks
    values: Floats

    @classmethod
    def of(cls, trees: Nodes) -> LeafMasks:
        """Build the tables of trees that are not too large (see `Nodes.why_too_large`)."""
        levels = list(_levels(trees))
        owner = _owners(trees, levels)
        is_leaf = trees.left == np.arange(len(owner))
        leaves = np.flatnonzero(is_leaf & (owner >= 0))
        leaves = leaves[np.argsort(owner[leaves], kind="stable")]
        counts = np.bincount(owner[leaves], minlength=len(trees.roots))
        inner = np.flatnonzero(~is_leaf & (owner >= 0))
        number = np.arange(len(leaves)) - np.repeat(np.cumsum(counts) - counts, counts)
        bits = np.zeros(len(owner), dtype=np.uint32)
        bits[leaves] = np.left_shift(np.uint32(1), number.astype(np.uint32))
        for level in reversed(levels):
            bits[level] = bits[trees.left[level]] | bits[trees.right[level]]
        values = np.zeros(len(trees.roots) * MAX_LEAVES)
        values[owner[leaves] * MAX_LEAVES + number] = trees.value[leaves]
        features = np.unique(trees.feature[inner]).tolist()
        tables = [_table(trees, inner[trees.feature[inner] == feature], owner, bits) for feature in features]
        return cls(tables, bits[trees.roots], values)

    def sums(self, rows: Floats) -> Floats:
        """Return the sum of the values of the leaves that each row reaches."""
        mask_rows = [table.rows_of(rows[:, table.feature]) for table in self.tables]
        found, first = np.empty(len(rows)), np.arange(0, len(self.values), MAX_LEAVES) - _BIAS
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            at = slice(start, start + _ROWS_AT_ONCE)
            left = np.repeat(self.leaves[None], len(rows[at]), axis=0)
            allowed = np.empty_like(left)
            for table, row_of in zip(self.tables, mask_rows, strict=True):
                left &= table.masks.take(row_of[at], axis=0, out=allowed, mode="clip")
            number = left.astype(np.float32).view(np.int32) >> _MANTISSA  # one bit is left: its number is the exponent
            found[at] = self.values.take(number + first).sum(axis=1)
        return found


def _levels(trees: Nodes) -> Iterator[npt.NDArray[Any]]:
    """Yield the inner nodes of all trees, level by level."""
    nodes = trees.roots.astype(np.int64)
    while len(inner := nodes[trees.left[nodes] != nodes]):
        yield inner
        nodes = np.concatenate((trees.left[inner], trees.right[inner])).astype(np.int64)


def _owners(trees: Nodes, levels: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    """Return the tree of each node; -1 for a node of none."""
    owner = np.full(len(trees.feature), -1, dtype=np.int64)
    owner[trees.roots] = np.arange(len(trees.roots))
    for inner in levels:
        owner[trees.left[inner]] = owner[trees.right[inner]] = owner[inner]
    return owner


def _table(trees: Nodes, nodes: npt.NDArray[np.int64], owner: npt.NDArray[np.int64], bits: Masks) -> _Table:
    """Return the table of the feature of some nodes."""
    thresholds, at = np.unique(trees.threshold[nodes], return_inverse=True)
    on_left, on_right = bits[trees.left[nodes]], bits[trees.right[nodes]]
    above, below = (np.full((len(thresholds) + 1, len(trees.roots)), _ALL) for _ in range(2))
    np.bitwise_and.at(above, (at + 1, owner[nodes]), ~on_left)
    np.bitwise_and.at(below, (at, owner[nodes]), ~on_right)
    known = np.bitwise_and.accumulate(above, axis=0) & np.bitwise_and.accumulate(below[::-1], axis=0)[::-1]
    missing = np.full((1, len(trees.roots)), _ALL)
    np.bitwise_and.at(missing[0], owner[nodes], ~np.where(trees.is_left_missing[nodes] != 0, on_right, on_left))
    return _Table(int(trees.feature[nodes[0]]), thresholds, np.concatenate((known, missing)))
