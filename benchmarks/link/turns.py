"""Run two versions of Onym alternately (A B B A ...), so that other load on the machine slows both equally."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeVar

T = TypeVar("T")


def take_turns(now: Callable[[], T], then: Callable[[], T], rounds: int) -> list[tuple[T, T]]:
    """Call both functions once per round in alternating order, and return the pairs of results."""
    pairs: list[tuple[T, T]] = []
    for number in range(rounds):
        if number % 2:
            later = then()
            pairs.append((now(), later))
        else:
            pairs.append((now(), then()))
    return pairs


def median_ratio(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the median, over the rounds, of the first figure divided by the second.

    >>> median_ratio([(1.0, 2.0), (3.0, 4.0), (9.0, 3.0)])
    0.75
    """
    return median(one / other for one, other in pairs)


def plain_environment(**more: str) -> dict[str, str]:
    """Return the environment without Python's variables, which could select another Onym in child processes."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | more


class Process(NamedTuple):
    """The output and CPU seconds of a process that has ended."""

    output: str
    cpu_s: float


def run_alone(command: Sequence[object], folder: Path, **environment: str) -> Process:
    """Run a command in a folder; raise if it fails."""
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
        msg = f"{' '.join(str(word) for word in command[:5])} failed with exit status {done.returncode}: {done.stderr[-2000:]}"
        raise RuntimeError(msg)
    return Process(done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
