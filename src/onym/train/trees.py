"""Fit gradient-boosted trees, which rerankers and linkers of genes and organisms use."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from onym.errors import InputError, missing_extra
from onym.methods.trees.trees import Floats, Trees
from onym.train.configs import TreesConfig


def fit_matrix(matrix: Floats, is_right: npt.NDArray[np.bool_], config: TreesConfig) -> Trees:
    """Fit trees that predict whether a row of features is right."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError as e:
        raise missing_extra("training a reranker", "train") from e
    if not is_right.any() or is_right.all():
        fix = "set data.kb to the knowledge base that has the gold ids of the datasets"
        raise InputError("training-empty", "either all candidates are right, or all are wrong", fix=fix)
    model = HistGradientBoostingClassifier(
        max_iter=config.iterations,
        learning_rate=config.learning_rate,
        max_leaf_nodes=config.max_leaves,
        max_depth=config.max_depth,
        min_samples_leaf=config.min_samples,
        max_features=config.feature_share,
        l2_regularization=config.regularisation,
        early_stopping=False,
        random_state=config.seed,
    )
    return trees_of(model.fit(np.where(_is_empty(matrix), 0.0, matrix), is_right))


def trees_of(model: Any) -> Trees:
    """Convert a fitted binary HistGradientBoostingClassifier to `Trees`."""
    tables = [predictor.nodes for iteration in model._predictors for predictor in iteration]  # noqa: SLF001 - no public API
    starts = np.cumsum([0, *(len(nodes) for nodes in tables)])[:-1]
    nodes = np.concatenate(tables)
    start = np.repeat(starts, [len(table) for table in tables])
    is_leaf, own = nodes["is_leaf"] != 0, np.arange(len(nodes))
    return Trees(
        roots=starts.astype(np.uint32),
        feature=np.where(is_leaf, 0, nodes["feature_idx"]).astype(np.uint16),
        threshold=np.where(is_leaf, 0.0, nodes["num_threshold"]).astype(np.float64),
        left=np.where(is_leaf, own, nodes["left"].astype(np.int64) + start).astype(np.uint32),
        right=np.where(is_leaf, own, nodes["right"].astype(np.int64) + start).astype(np.uint32),
        is_left_missing=np.where(is_leaf, 0, nodes["missing_go_to_left"]).astype(np.uint8),
        value=np.where(is_leaf, nodes["value"], 0.0).astype(np.float64),
        baseline=np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)[:1],  # noqa: SLF001
    )


def _is_empty(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return a mask of the matrix that is True in columns that are all NaN, because scikit-learn cannot bin these."""
    return np.broadcast_to(np.isnan(matrix).all(axis=0), matrix.shape)
