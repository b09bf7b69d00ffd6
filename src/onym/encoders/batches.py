"""Batches of texts of like lengths: little padding, and about as many tokens in each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt


def batches(lengths: npt.NDArray[Any], budget: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the places of texts, the longest first, as many at once as fit into `budget` tokens with their padding.

    The first batches need the most memory: what does not fit fails at once and not after hours.

    >>> [batch.tolist() for batch in batches(np.array([2, 9, 3, 3]), budget=6)]
    [[1], [2, 3], [0]]
    """
    order = np.argsort(-lengths.astype(np.int64), kind="stable")
    start = 0
    while start < len(order):
        rows = max(1, budget // max(1, int(lengths[order[start]])))
        yield order[start : start + rows]
        start += rows
