"""Gradient-boosted trees as plain arrays: read, write, check and evaluate them.

They are evaluated with NumPy, as tables of leaf masks (see `onym.methods.trees.leaf_masks`), which bounds their size.

All trees share one table of nodes. A row goes to the left child of a node if its feature is <= the threshold, else to the right
child; each node says to which child NaN goes. A leaf is its own child. Children have higher indices than their parents, and
each node has at most one parent, which is checked when trees are read, so there are no cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.calibrate import Isotonic
from onym.errors import InputError, IntegrityError
from onym.methods.trees.leaf_masks import LeafMasks, Nodes
from onym.store.artefact import Artefact
from onym.store.stage import Stage

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Trees(Nodes):
    """Gradient-boosted trees: the sum of the trees and a baseline is the log-odds that a row is right.

    `baseline` has a single entry.

    >>> stump = Trees(roots=np.array([0]), feature=np.array([0, 0, 0]), threshold=np.array([0.5, 0.0, 0.0]),
    ...               left=np.array([1, 1, 2]), right=np.array([2, 1, 2]), is_left_missing=np.array([1, 0, 0]),
    ...               value=np.array([0.0, -1.0, 1.0]), baseline=np.array([0.25]))
    >>> stump.require_sound(features=1)
    >>> stump.log_odds(np.array([[0.0], [1.0], [np.nan]])).tolist()
    [-0.75, 1.25, -0.75]
    """

    baseline: Floats

    @classmethod
    def of(cls, columns: dict[str, npt.NDArray[Any]]) -> Trees:
        """Create trees from columns by name."""
        return cls(**{field.name: columns[field.name] for field in fields(cls)})

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def log_odds(self, rows: Floats) -> Floats:
        """Return the log-odds of each row. *Shape:* (rows, features) -> (rows,)."""
        return np.asarray(self._masks.sums(rows) + self.baseline[0])

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probability that each row is right."""
        odds = self.log_odds(rows)
        small = np.exp(-np.abs(odds))
        return np.where(odds >= 0, 1 / (1 + small), small / (1 + small))

    @cached_property
    def _masks(self) -> LeafMasks:
        return LeafMasks.of(self)

    def require_sound(self, features: int, where: str = "") -> None:
        """Raise IntegrityError if columns do not match, are too large, or contain invalid indices, cycles, NaN or infinity."""
        size = len(self.feature)
        if problem := self._problem(size, features):
            raise IntegrityError("artefact-corrupt", problem, where=where, fix="train the reranker again")

    def _problem(self, size: int, features: int) -> str:
        lengths = {len(column) for name, column in self.columns.items() if name not in ("roots", "baseline")}
        if lengths != {size} or len(self.baseline) != 1 or not len(self.roots):
            return "the columns of the trees do not match in length"
        if size == 0 or any(int(column.max()) >= size for column in (self.roots, self.left, self.right)):
            return "a node index of a tree is out of range"
        if int(self.feature.max()) >= features:
            return "a feature index of a tree is out of range"
        if np.isnan(self.threshold).any() or not (np.isfinite(self.value).all() and np.isfinite(self.baseline).all()):
            return "a tree has a NaN or infinite value"
        if not self._is_forest(np.arange(size)):
            return "the trees have a cycle, or a node with two parents"
        return self.why_too_large()

    def _is_forest(self, own: npt.NDArray[np.int64]) -> bool:
        """Return whether children have higher indices than their parents, and each node has at most one parent."""
        is_leaf = self.left == own
        if ((self.right == own) != is_leaf).any() or (~is_leaf & ((self.left < own) | (self.right < own))).any():
            return False
        reached = np.concatenate([self.roots, self.left[~is_leaf], self.right[~is_leaf]])
        return len(np.unique(reached)) == len(reached)


def score_each(trees: Trees, matrices: Sequence[Floats]) -> list[Floats]:
    """Return the probabilities of the rows of each matrix, computed together."""
    sizes = [len(each) for each in matrices]
    if not sum(sizes):
        return [np.zeros(0) for _ in sizes]
    return np.split(trees.probabilities(np.concatenate(matrices)), np.cumsum(sizes[:-1]))


_INTEGERS = {"roots": "<u4", "feature": "<u2", "left": "<u4", "right": "<u4", "is_left_missing": "<u1"}
_FLOATS = ("threshold", "value", "baseline")


class Calibrated:
    """A model whose scores are probabilities, with a calibration of the best one; None if it was not fitted."""

    calibration: Isotonic | None

    def confidences(self, probabilities: Sequence[float]) -> list[float]:
        """Return the calibrated probabilities of several best candidates."""
        if self.calibration is None or not probabilities:
            return list(probabilities)
        return [float(each) for each in self.calibration.probabilities(np.array(probabilities))]

    def confidence(self, probability: float) -> float:
        """Return the calibrated probability that a mention's best candidate is right."""
        if self.calibration is None:
            return probability
        return float(self.calibration.probabilities(np.array([probability]))[0])


def write_trees(stage: Stage, trees: Trees, prefix: str = "") -> None:
    """Write the columns of trees to a stage; `prefix` distinguishes several sets of trees in one artefact."""
    for name, column in trees.columns.items():
        stage.write_array(f"{prefix}{name}", column.astype(_INTEGERS.get(name, "<f8")))


def read_trees(artefact: Artefact, features: int, prefix: str = "") -> Trees:
    """Read trees and check them."""
    columns: dict[str, npt.NDArray[Any]] = {name: artefact.array(f"{prefix}{name}") for name in _INTEGERS}
    columns |= {name: artefact.array(f"{prefix}{name}", "f") for name in _FLOATS}
    trees = Trees.of({name: np.array(column) for name, column in columns.items()})  # copied into memory for speed
    trees.require_sound(features, str(artefact.location))
    return trees


def write_calibration(stage: Stage, calibration: Isotonic | None) -> None:
    """Write a calibration to a stage; without one, its columns are empty."""
    knots: tuple[Sequence[float], Sequence[float]] = (calibration.scores, calibration.values) if calibration else ((), ())
    for name, values in zip(("scores", "values"), knots, strict=True):
        stage.write_array(f"calibration.{name}", np.array(values, dtype="<f8"))


def read_calibration(artefact: Artefact) -> Isotonic | None:
    """Read a calibration and check it; return None if there is none."""
    scores, values = artefact.array("calibration.scores", "f"), artefact.array("calibration.values", "f")
    if not len(scores) and not len(values):
        return None
    try:
        return Isotonic(tuple(scores.tolist()), tuple(values.tolist()))
    except InputError as e:
        raise IntegrityError("artefact-corrupt", e.what, where=str(artefact.location), fix="train the reranker again") from e
