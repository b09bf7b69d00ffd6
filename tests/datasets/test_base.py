"""Tests of the class that describes a dataset."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from onym.datasets import get
from onym.datasets.base import SPLITS


def test_dataset_is_frozen_and_does_not_restrict_types_by_default() -> None:
    dataset = get("bc5cdr")
    assert (dataset.splits, dataset.restricts_types, dataset.dictionary) == (SPLITS, False, None)
    with pytest.raises(FrozenInstanceError):
        dataset.name = "other"  # type: ignore[misc]
