"""Measure how the CPU time of a step grows when a text becomes twice as long."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.robustness.text.shapes import Shape

MAX_RATIO = 2.4
_ENOUGH_S = 0.1  # a shorter run cannot be compared
_TRIES, _RUNS = 4, 2
Step = Callable[[str], object]


def require_linear(step: Step, shape: Shape, length: int, max_length: int = 200_000) -> None:
    """Raise AssertionError if a text of twice the length takes more than `MAX_RATIO` times as long.

    The length grows until a run takes long enough to be compared. A ratio that is too large is measured again, because a busy
    core makes linear time look quadratic, but never quadratic time linear.
    """
    while (took := seconds(step, shape(length))) < _ENOUGH_S and length < max_length:
        length *= 2
    if took < _ENOUGH_S:
        return  # fast enough not to matter
    for _ in range(_TRIES):
        ratio = seconds(step, shape(2 * length)) / seconds(step, shape(length))
        if ratio <= MAX_RATIO:
            return
    raise AssertionError(f"a text of {2 * length:,} characters takes {ratio:.1f} times as long as one of {length:,}")


def seconds(step: Step, text: str) -> float:
    """Return the smallest CPU time of several runs."""
    times = []
    for _ in range(_RUNS):
        before = time.process_time()
        step(text)
        times.append(time.process_time() - before)
    return min(times)
