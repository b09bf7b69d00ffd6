"""Fitting the regression."""

from __future__ import annotations

import numpy as np
import pytest

from onym.errors import InputError
from onym.train.mentions.collate import Occurrences
from onym.train.mentions.config import RegressionConfig
from onym.train.mentions.trainer import fit_weights


def _part(rows: list[list[int]], *marks: bool) -> Occurrences:
    return Occurrences([], rows, np.array(marks, dtype=bool), 1)


def test_a_feature_of_mentions_has_a_weight_above_zero() -> None:
    weights = fit_weights([_part([[1, 2], [1, 3]], True, False), _part([[2], [3]], True, False)], RegressionConfig())
    assert weights[2] > 0 > weights[3]
    assert not weights[5]


@pytest.mark.parametrize("marks", [(True, True), (False, False)])
def test_there_must_be_both_kinds(marks: tuple[bool, bool]) -> None:
    with pytest.raises(InputError, match="training-empty"):
        fit_weights([_part([[1], [2]], *marks)], RegressionConfig())
