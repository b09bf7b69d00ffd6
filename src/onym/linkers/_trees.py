"""Gradient-boosted trees as plain arrays: checked when they are opened, evaluated without a loop over rows.

All trees share one table of nodes. A node sends a row to its left child where the row's feature is at most the threshold, else
to its right one; where the feature is NaN, to the side that the node says. A leaf is its own child. Children stand behind their
parents, so that no walk can go in a circle.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.errors import IntegrityError

MAX_DEPTH = 64
"""How deep a tree may be."""
_CELLS = 100_000  # rows times trees that are walked at once: they stay in the cache of a core
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trees:
    """The sum of trees over a baseline: the logarithm of the odds that a row is right.

    All but `roots`, one for each tree, and `baseline` have an entry for each node.

    >>> stump = Trees(roots=np.array([0]), feature=np.array([0, 0, 0]), threshold=np.array([0.5, 0.0, 0.0]),
    ...               left=np.array([1, 1, 2]), right=np.array([2, 1, 2]), is_left_missing=np.array([1, 0, 0]),
    ...               value=np.array([0.0, -1.0, 1.0]), baseline=np.array([0.25]))
    >>> stump.require_sound(features=1)
    >>> stump.log_odds(np.array([[0.0], [1.0], [np.nan]])).tolist()
    [-0.75, 1.25, -0.75]
    """

    roots: npt.NDArray[Any]
    feature: npt.NDArray[Any]
    threshold: Floats
    left: npt.NDArray[Any]
    right: npt.NDArray[Any]
    is_left_missing: npt.NDArray[Any]
    value: Floats
    baseline: Floats

    @classmethod
    def of(cls, columns: dict[str, npt.NDArray[Any]]) -> Trees:
        """Take columns by name."""
        return cls(**{field.name: columns[field.name] for field in fields(cls)})

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def log_odds(self, rows: Floats) -> Floats:
        """Return the sum over all trees for each row of features. *Shape:* (rows, features) -> (rows)."""
        found = np.empty(len(rows))
        step = max(1, _CELLS // max(1, len(self.roots)))
        for start in range(0, len(rows), step):
            found[start : start + step] = self._sum(rows[start : start + step])
        return found

    def probabilities(self, rows: Floats) -> Floats:
        """Return for each row the probability that it is right."""
        odds = self.log_odds(rows)
        small = np.exp(-np.abs(odds))
        return np.where(odds >= 0, 1 / (1 + small), small / (1 + small))

    def _sum(self, rows: Floats) -> Floats:
        values, width = np.ascontiguousarray(rows).reshape(-1), rows.shape[1]
        nodes = np.tile(self.roots.astype(np.int64), len(rows))
        walking = np.arange(len(nodes))
        starts = np.repeat(np.arange(len(rows)) * width, len(self.roots))
        here = nodes
        for _ in range(MAX_DEPTH + 1):
            is_inner = self.left.take(here) != here
            walking, starts, here = walking[is_inner], starts[is_inner], here[is_inner]
            if not len(walking):
                break
            here = self._children(here, values.take(starts + self.feature.take(here)))
            nodes[walking] = here
        return np.asarray(self.value.take(nodes).reshape(len(rows), -1).sum(axis=1) + self.baseline[0], dtype=np.float64)

    def _children(self, nodes: npt.NDArray[np.int64], values: Floats) -> npt.NDArray[np.int64]:
        is_left = values <= self.threshold.take(nodes)  # never where it is NaN
        is_left |= np.isnan(values) & (self.is_left_missing.take(nodes) != 0)
        return np.where(is_left, self.left.take(nodes), self.right.take(nodes)).astype(np.int64)

    def require_sound(self, features: int, where: str = "") -> None:
        """Refuse columns that do not fit together, that lead out of the table or in a circle, and numbers that are none."""
        size = len(self.feature)
        if problem := self._problem(size, features):
            raise IntegrityError("artefact-corrupt", problem, where=where, fix="train it again")

    def _problem(self, size: int, features: int) -> str:
        lengths = {len(column) for name, column in self.columns.items() if name not in ("roots", "baseline")}
        if lengths != {size} or len(self.baseline) != 1 or not len(self.roots):
            return "the columns of the trees do not fit together"
        if size == 0 or any(int(column.max()) >= size for column in (self.roots, self.left, self.right)):
            return "a tree leads out of its table"
        if int(self.feature.max()) >= features:
            return "a tree asks for a feature that there is not"
        if np.isnan(self.threshold).any() or not (np.isfinite(self.value).all() and np.isfinite(self.baseline).all()):
            return "a tree has a number that is none"
        own = np.arange(size)
        is_leaf = self.left == own
        if ((self.right == own) != is_leaf).any() or (~is_leaf & ((self.left < own) | (self.right < own))).any():
            return "a tree leads in a circle"
        return "" if self._depth() <= MAX_DEPTH else f"a tree is deeper than {MAX_DEPTH}"

    def _depth(self) -> int:
        """Return the depth of the deepest tree, or a number beyond what is allowed."""
        nodes = np.unique(self.roots)
        for depth in range(MAX_DEPTH + 1):
            nodes = nodes[self.left[nodes] != nodes]
            if not len(nodes):
                return depth
            nodes = np.unique(np.concatenate((self.left[nodes], self.right[nodes])))
        return MAX_DEPTH + 1
