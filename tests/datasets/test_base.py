"""What a benchmark says of itself."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from onym.datasets import get
from onym.datasets.base import SPLITS


def test_a_benchmark_is_frozen_and_leaves_types_alone() -> None:
    benchmark = get("bc5cdr")
    assert (benchmark.splits, benchmark.restricts_types, benchmark.names) == (SPLITS, False, None)
    with pytest.raises(FrozenInstanceError):
        benchmark.name = "other"  # type: ignore[misc]
