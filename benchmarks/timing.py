"""Processor time of things that are compared."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

T = TypeVar("T")
_TURNS = 3


def fastest(readings: Mapping[str, Callable[[], object]], turns: int = _TURNS) -> dict[str, float]:
    """Return the least CPU time of each, in seconds; they take turns, so that a busy machine slows all of them."""
    found: dict[str, list[float]] = {name: [] for name in readings}
    for _ in range(turns):
        for name, read in readings.items():
            started = time.process_time()
            read()
            found[name].append(time.process_time() - started)
    return {name: min(each) for name, each in found.items()}


def fastest_by_slices(
    acts: Mapping[str, Callable[[Sequence[T]], object]], values: Sequence[T], size: int, turns: int = _TURNS
) -> dict[str, float]:
    """Return the same, added up over slices of values, for a machine whose speed changes from second to second."""
    total: Counter[str] = Counter()
    for start in range(0, len(values), size):
        part = values[start : start + size]
        total.update(fastest({name: partial(act, part) for name, act in acts.items()}, turns))
    return {name: float(total[name]) for name in acts}
