"""The smallest trees."""

from __future__ import annotations

import numpy as np

from onym.testing.tiny_trees import stump


def test_a_stump_is_sound_and_asks_for_one_feature() -> None:
    trees = stump(feature=1)
    trees.require_sound(2, "here")
    assert trees.probabilities(np.array([[0.9, 0.2], [0.2, 0.9]])).round(3).tolist() == [0.269, 0.731]
