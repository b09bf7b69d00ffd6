"""Tests of gradient-boosted trees stored as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from onym.errors import IntegrityError
from onym.methods.trees.leaf_masks import MAX_LEAVES
from onym.methods.trees.trees import Trees
from onym.train.trees import trees_of


def stump(**changed: Any) -> Trees:
    columns: dict[str, Any] = {
        "roots": np.array([0], dtype=np.uint32),
        "feature": np.array([0, 0, 0], dtype=np.uint16),
        "threshold": np.array([0.5, 0.0, 0.0]),
        "left": np.array([1, 1, 2], dtype=np.uint32),
        "right": np.array([2, 1, 2], dtype=np.uint32),
        "is_left_missing": np.array([0, 0, 0], dtype=np.uint8),
        "value": np.array([0.0, -1.0, 1.0]),
        "baseline": np.array([0.0]),
    }
    return Trees.of(columns | {name: np.asarray(value) for name, value in changed.items()})


@pytest.mark.parametrize("leaves", [2, 15, 32])
def test_agrees_with_scikit_learn(leaves: int) -> None:
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(3_000, 6))
    rows[generator.random(rows.shape) < 0.2] = np.nan
    right = np.nan_to_num(rows[:, 0]) + np.nan_to_num(rows[:, 1]) * np.isnan(rows[:, 2]) > 0.3
    model = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=leaves, min_samples_leaf=5).fit(rows, right)
    trees = trees_of(model)
    trees.require_sound(features=6)
    unseen = generator.normal(size=(2_000, 6))
    unseen[generator.random(unseen.shape) < 0.3] = np.nan
    assert np.abs(trees.probabilities(unseen) - model.predict_proba(unseen)[:, 1]).max() < 1e-9
    assert np.abs(trees.log_odds(unseen) - model.decision_function(unseen)).max() < 1e-9


def walk(trees: Trees, row: np.ndarray[Any, Any]) -> float:
    """Return the log-odds of a row, by walking down each tree."""
    values = []
    for node in trees.roots.tolist():
        while trees.left[node] != node:
            value = row[trees.feature[node]]
            is_left = trees.is_left_missing[node] if np.isnan(value) else value <= trees.threshold[node]
            node = int((trees.left if is_left else trees.right)[node])  # noqa: PLW2901 - walks down
        values.append(trees.value[node])
    return float(np.array(values).sum() + trees.baseline[0])


def test_leaf_masks_give_the_sums_of_walking_down() -> None:
    generator = np.random.default_rng(1)
    rows = np.round(generator.normal(size=(1_000, 4)), 1)  # values on thresholds too
    rows[generator.random(rows.shape) < 0.2] = np.nan
    model = HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=3).fit(rows, np.nansum(rows, axis=1) > 0)
    trees = trees_of(model)
    assert trees.log_odds(rows).tolist() == [walk(trees, row) for row in rows]


@pytest.mark.parametrize(
    ("threshold", "missing_left", "found"),
    [
        (np.inf, 0, [-1.0, -1.0, -1.0, 1.0]),
        (np.inf, 1, [-1.0, -1.0, -1.0, -1.0]),
        (-np.inf, 0, [-1.0, 1.0, 1.0, 1.0]),
        (-np.inf, 1, [-1.0, 1.0, 1.0, -1.0]),
        (0.0, 0, [-1.0, -1.0, 1.0, 1.0]),
    ],
)
def test_missing_values_follow_the_node(threshold: float, missing_left: int, found: list[float]) -> None:
    tree = stump(threshold=[threshold, 0.0, 0.0], is_left_missing=[missing_left, 0, 0])
    assert tree.log_odds(np.array([[-np.inf], [0.0], [np.inf], [np.nan]])).tolist() == found


def test_predicts_many_rows_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.linspace(0, 1, 11)[:, None]
    whole = stump().log_odds(rows)
    monkeypatch.setattr("onym.methods.trees.leaf_masks._ROWS_AT_ONCE", 3)
    assert stump().log_odds(rows).tolist() == whole.tolist()
    assert stump().log_odds(np.zeros((0, 1))).tolist() == []


def test_extreme_odds_are_probabilities() -> None:
    found = stump(value=[0.0, -800.0, 800.0]).probabilities(np.array([[0.0], [1.0]]))
    assert found.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    "changed",
    [
        {"roots": [3]},
        {"roots": []},
        {"left": [9, 1, 2]},
        {"right": [9, 1, 2]},
        {"left": [0, 1, 2]},  # the left child is a leaf, the right child does not exist
        {"left": [1, 0, 2], "right": [2, 0, 2]},  # the root is its own descendant: a cycle
        {"right": [1, 1, 2]},  # both children are the same node
        {"roots": [0, 0]},
        {"feature": [1, 0, 0]},
        {"threshold": [np.nan, 0.0, 0.0]},
        {"value": [0.0, np.inf, 1.0]},
        {"baseline": [np.nan]},
        {"baseline": [0.0, 0.0]},
        {"value": [0.0, 1.0]},
        {"is_left_missing": [0]},
    ],
)
def test_rejects_invalid_trees(changed: dict[str, Any]) -> None:
    stump().require_sound(features=1)
    with pytest.raises(IntegrityError) as error:
        stump(**changed).require_sound(features=1)
    assert error.value.code == "artefact-corrupt"


def chain(leaves: int) -> Trees:
    """Return a degenerate tree (a chain): the left child of each inner node is a leaf."""
    size = 2 * leaves - 1
    own = np.arange(size)
    is_inner = (own % 2 == 0) & (own < size - 1)
    columns = {name: np.zeros(size) for name in ("feature", "threshold", "is_left_missing", "value")}
    columns |= {"left": np.where(is_inner, own + 1, own), "right": np.where(is_inner, own + 2, own)}
    return Trees.of({**columns, "feature": np.zeros(size, dtype=int), "roots": np.array([0]), "baseline": np.zeros(1)})


@pytest.mark.parametrize("leaves", [MAX_LEAVES + 1, 100 * MAX_LEAVES])
def test_rejects_trees_with_too_many_leaves(leaves: int) -> None:
    chain(MAX_LEAVES).require_sound(features=1)
    with pytest.raises(IntegrityError, match="more than 32 leaves"):
        chain(leaves).require_sound(features=1)


def test_rejects_large_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.methods.trees.leaf_masks._MAX_CELLS", 3)  # of one threshold: at most it, above it, missing
    stump().require_sound(features=1)
    monkeypatch.setattr("onym.methods.trees.leaf_masks._MAX_CELLS", 2)
    with pytest.raises(IntegrityError, match="too large"):
        stump().require_sound(features=1)
