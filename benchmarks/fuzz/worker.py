"""The process that runs cases of fuzzing, each in bounded time and memory, and tells at once what ends otherwise."""

from __future__ import annotations

import os
import resource
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

HANG_S = 5.0  # of one process's time
_GROWTH = 256 * 2**20  # bytes that a process may grow while it works


@dataclass(frozen=True)
class Suite:
    """Cases by reader and number, always the same for one seed.

    `judge` reads a case and counts what came of it; whatever it raises is another outcome. `files` are what the case reads.
    """

    judge: Callable[[int, str, int], Mapping[str, int]]
    files: Callable[[int, str, int], Mapping[str, bytes]]


def work(connection: Connection, current: Any, suite: Suite, seed: int) -> None:
    """Run the cases that are asked for, telling of everything else at once; `current[0]` is the case being run."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 2)  # Rust prints its panics
    warnings.simplefilter("error")
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends a process that hangs, even inside of C
    peak = _peak()
    while task := connection.recv():
        reader, start, stop = task
        counts: Counter[str] = Counter()
        for number in range(start, stop):
            current[0] = number
            signal.setitimer(signal.ITIMER_PROF, HANG_S)
            try:
                counts.update(suite.judge(seed, reader, number))
            except KeyboardInterrupt:
                raise
            except BaseException as e:  # a panic of Rust is not an Exception
                connection.send((number, " ".join(f"{type(e).__name__}: {e}".split())[:200]))
            signal.setitimer(signal.ITIMER_PROF, 0)
            if _peak() > peak + _GROWTH:
                connection.send((number, f"memory grew from {peak >> 20} to {_peak() >> 20} MB"))
                peak = _peak()
        connection.send((-1, dict(counts)))


def replay(suite: Suite, seed: int, reader: str, number: int) -> None:
    """Run one case here and say on stderr what happens."""
    for name, data in suite.files(seed, reader, number).items():
        print(f"{name}: {data!r}", file=sys.stderr)
    try:
        print(dict(suite.judge(seed, reader, number)), file=sys.stderr)
    except BaseException:
        traceback.print_exc()


def _peak() -> int:
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024
