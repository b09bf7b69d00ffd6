"""Fitting trees. That they answer as scikit-learn's do is tested with the trees."""

from __future__ import annotations

import numpy as np
import pytest

from onym.errors import InputError
from onym.rerank.features import NAMES
from onym.train.rerank.collate import Pairs
from onym.train.rerank.config import TreesConfig
from onym.train.rerank.trainer import fit_trees


def pairs(right: list[bool]) -> Pairs:
    size = len(right)
    matrix = np.full((size, len(NAMES)), np.nan)
    matrix[:, 0] = np.linspace(0, 1, size)
    rows = np.arange(size)
    return Pairs(matrix, np.array(right), rows, rows, np.ones(size, bool), np.ones(size, bool), np.array([""] * size, object))


def test_columns_without_a_number_teach_nothing() -> None:
    trees = fit_trees(pairs([False] * 30 + [True] * 30), ("tfidf", "dense"), TreesConfig(iterations=3, min_samples=5))
    trees.require_sound(features=2)
    low, high = trees.probabilities(np.array([[0.1, np.nan], [0.9, np.nan]]))
    assert low < 0.5 < high
    assert set(trees.feature.tolist()) == {0}


@pytest.mark.parametrize("right", [[True] * 5, [False] * 5])
def test_there_have_to_be_right_and_wrong_pairs(right: list[bool]) -> None:
    with pytest.raises(InputError) as error:
        fit_trees(pairs(right), ("tfidf",), TreesConfig())
    assert error.value.code == "training-empty"
