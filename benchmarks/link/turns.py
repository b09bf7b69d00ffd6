"""Two versions of Onym by turns: now, then, then, now, so that a machine with other work slows both alike."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import TypeVar

T = TypeVar("T")


def take_turns(now: Callable[[], T], then: Callable[[], T], rounds: int) -> list[tuple[T, T]]:
    """Call both once in each round, and return the pairs of results; the order changes from round to round."""
    pairs: list[tuple[T, T]] = []
    for number in range(rounds):
        if number % 2:
            later = then()
            pairs.append((now(), later))
        else:
            pairs.append((now(), then()))
    return pairs


def median_ratio(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the median over the rounds of the first figure divided by the second.

    >>> median_ratio([(1.0, 2.0), (3.0, 4.0), (9.0, 3.0)])
    0.75
    """
    return median(one / other for one, other in pairs)


def plain_environment(**more: str) -> dict[str, str]:
    """Return the environment variables without those of Python, which would choose another Onym for child processes."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | more


def run_alone(command: Sequence[object], folder: Path, **environment: str) -> tuple[str, float]:
    """Run a command in a folder, and return its output and its CPU seconds; it must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=plain_environment(OMP_NUM_THREADS="1", **environment),
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        msg = f"{' '.join(str(word) for word in command[:5])} ended with {done.returncode}: {done.stderr[-2000:]}"
        raise RuntimeError(msg)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
