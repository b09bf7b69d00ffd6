"""Run fuzzing cases in child processes with bounded time and memory.

Outcomes that a suite does not allow are reported on stderr with a number that `--replay reader:number` runs again.
"""

from __future__ import annotations

import argparse
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from tests.robustness.children import Child, LostError, judge_all, requests

Task = tuple[str, int, int]
OTHER = "other_outcomes"
HANG_S = 5.0  # maximum CPU seconds of a case, after which it counts as a hang
_GROWTH = 256 * 2**20  # maximum memory growth of a process, in bytes
_CHUNK = 500
_STUCK_S = 60.0  # maximum wall seconds of a case: a process that waits forever uses no CPU time


@dataclass(frozen=True)
class Suite:
    """A fuzzing suite: cases by reader and number, deterministic for a seed. Each fuzzing module defines one as `SUITE`.

    `judge` reads a case and returns counts; an exception counts as `other_outcomes`. `files` returns the files of a case.
    """

    judge: Callable[[int, str, int], Mapping[str, int]]
    files: Callable[[int, str, int], Mapping[str, bytes]]


def add_fuzz_options(
    parser: argparse.ArgumentParser, readers: Sequence[str], *, cases: str = "100,000, or 300 with --quick"
) -> None:
    parser.add_argument("--cases", type=int, default=0, help=f"cases per reader (default: {cases})")
    parser.add_argument("--readers", default=",".join(readers), help="comma-separated readers (default: all)")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--replay", default="", metavar="READER:NUMBER", help="run only this case and report what happens")


def fuzz(options: argparse.Namespace, module: str) -> tuple[dict[str, object], Counter[str]]:
    """Run the cases selected by the options. Return the figures common to all fuzzers, and the suite's own counts."""
    if options.replay:
        reader, _, number = options.replay.partition(":")
        _replay(import_module(module).SUITE, options.seed, reader, int(number))
        return {}, Counter()
    cases = options.cases or (300 if options.quick else 100_000)
    names = options.readers.split(",")
    counts = _Fuzzing(module, options.seed, {name: _tasks(name, cases) for name in names}).run(options.workers)
    figures = {"readers": len(names), "cases": cases * len(names), "cases_per_reader": cases, OTHER: counts[OTHER]}
    return figures, counts


def _tasks(reader: str, cases: int) -> list[Task]:
    return [(reader, start, min(start + _CHUNK, cases)) for start in range(0, cases, _CHUNK)]


class _Fuzzing:
    """The tasks of a suite, and their outcomes."""

    def __init__(self, module: str, seed: int, tasks: dict[str, list[Task]]) -> None:
        self._module, self._seed, self._tasks = module, seed, tasks
        self._open = {reader: len(each) for reader, each in tasks.items()}
        self._counts: dict[str, Counter[str]] = {reader: Counter() for reader in tasks}
        self._began = time.monotonic()

    def run(self, workers: int) -> Counter[str]:
        tasks = [task for each in self._tasks.values() for task in each]
        env = {"POLARS_MAX_THREADS": "1"}
        children = [  # quiet, to hide the messages of Rust panics
            Child(work, self._module, str(self._seed), timeout=_STUCK_S, env=env, is_quiet=True)
            for _ in range(min(workers, len(tasks)))
        ]
        judge_all(tasks, children, self._judge)
        return sum(self._counts.values(), Counter())

    def _judge(self, child: Child, task: Task) -> None:
        reader, start, stop = task
        self._run(child, reader, start, stop)
        self._open[reader] -= 1
        if not self._open[reader]:
            seconds = time.monotonic() - self._began
            print(f"{seconds:8.1f} s  {reader}: {dict(self._counts[reader])}", file=sys.stderr, flush=True)

    def _run(self, child: Child, reader: str, start: int, stop: int) -> None:
        """Run some cases; if the process is lost, bisect to find the case that causes it."""
        try:
            counts, notes = child.ask([reader, start, stop], _STUCK_S + HANG_S * (stop - start - 1))
        except LostError as e:
            if stop - start > 1:
                middle = (start + stop) // 2
                self._run(child, reader, start, middle)
                self._run(child, reader, middle, stop)
                return
            counts, notes = {}, [(start, "hang" if e.how == "hangs" else f"the process died with {e.status}")]
        self._counts[reader].update(counts)
        for number, said in notes:
            self._counts[reader][OTHER] += 1
            print(f"{reader}:{number} (seed {self._seed}): {said}", file=sys.stderr, flush=True)


def work(pipe: Connection, module: str, seed: str) -> None:
    """Run cases for requests `[reader, start, stop]`; respond with counts, and notes on disallowed outcomes."""
    suite: Suite = import_module(module).SUITE
    warnings.simplefilter("error")
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # the CPU timer's default action kills the process, even inside C code
    peak = _peak()

    def answer(request: list[Any]) -> tuple[Counter[str], list[tuple[int, str]]]:
        nonlocal peak
        reader, start, stop = request
        counts: Counter[str] = Counter()
        notes: list[tuple[int, str]] = []
        for number in range(start, stop):
            signal.setitimer(signal.ITIMER_PROF, HANG_S)
            try:
                counts.update(suite.judge(int(seed), reader, number))
            except KeyboardInterrupt:
                raise
            except BaseException as e:  # a Rust panic is not a subclass of Exception
                notes.append((number, " ".join(f"{type(e).__name__}: {e}".split())[:200]))
            signal.setitimer(signal.ITIMER_PROF, 0)
            if _peak() > peak + _GROWTH:
                notes.append((number, f"memory grew from {peak >> 20} to {_peak() >> 20} MB"))
                peak = _peak()
        return counts, notes

    for request in requests(pipe):
        pipe.send(answer(request))


def _replay(suite: Suite, seed: int, reader: str, number: int) -> None:
    """Run one case in this process and report the outcome on stderr."""
    for name, data in suite.files(seed, reader, number).items():
        print(f"{name}: {data!r}", file=sys.stderr)
    try:
        print(dict(suite.judge(seed, reader, number)), file=sys.stderr)
    except BaseException:
        traceback.print_exc()


def _peak() -> int:
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024
