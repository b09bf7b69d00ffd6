"""Processes that run the cases of a fuzzer, and whoever takes the place of one that dies.

What ends otherwise than a suite allows is told on stderr with a number that `--replay reader:number` runs again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any

from benchmarks.fuzz.worker import Suite, replay, work

Task = tuple[str, int, int]
OTHER = "other_outcomes"

_CHUNK = 500
_STUCK_S = 60.0  # without any progress: a process that waits for ever uses no time of its own


def add_fuzz_options(parser: argparse.ArgumentParser, readers: Sequence[str]) -> None:
    parser.add_argument("--cases", type=int, default=0, help="of each format; 100,000 without --quick, 300 with it")
    parser.add_argument("--readers", default=",".join(readers), help="formats, separated by commas")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--replay", default="", metavar="READER:NUMBER", help="run one case and say what happens")


def fuzz(options: argparse.Namespace, suite: Suite) -> tuple[dict[str, object], Counter[str]]:
    """Run the cases that the options ask for. Return the figures of every fuzzer, and all that the suite counted."""
    if options.replay:
        reader, _, number = options.replay.partition(":")
        replay(suite, options.seed, reader, int(number))
        return {}, Counter()
    os.environ["POLARS_MAX_THREADS"] = "1"
    cases = options.cases or (300 if options.quick else 100_000)
    names = options.readers.split(",")
    crew = _Crew(suite, options.seed, options.workers, [task for name in names for task in _tasks(name, cases)])
    counts = crew.run()
    figures = {"readers": len(names), "cases": cases * len(names), "cases_per_reader": cases, OTHER: counts[OTHER]}
    return figures, counts


def _tasks(reader: str, cases: int) -> list[Task]:
    return [(reader, start, min(start + _CHUNK, cases)) for start in range(0, cases, _CHUNK)]


class _Crew:
    """Processes that run the tasks, and whoever takes the place of one that dies."""

    def __init__(self, suite: Suite, seed: int, size: int, tasks: list[Task]) -> None:
        self._suite, self._seed = suite, seed
        self._tasks = deque(tasks)
        self._open = Counter(reader for reader, _, _ in tasks)
        self._counts: dict[str, Counter[str]] = {reader: Counter() for reader in self._open}
        self._began = time.monotonic()
        self._workers = [_Worker(suite, seed) for _ in range(min(size, len(tasks)))]

    def run(self) -> Counter[str]:
        for worker in self._workers:
            self._next(worker)
        while busy := [worker for worker in self._workers if worker.task]:
            wait([sign for worker in busy for sign in (worker.connection, worker.process.sentinel)], timeout=0.5)
            for i, worker in enumerate(self._workers):
                if worker.task and not self._heard(worker):
                    self._workers[i] = self._replaced(worker)
        for worker in self._workers:
            worker.dismiss()
        return sum(self._counts.values(), Counter())

    def _next(self, worker: _Worker) -> None:
        worker.give(self._tasks.popleft() if self._tasks else None)

    def _heard(self, worker: _Worker) -> bool:
        """Take what a worker says; return False once it is dead or stuck."""
        while worker.connection.poll():
            try:
                number, said = worker.connection.recv()
            except (EOFError, OSError):
                return False
            if number >= 0:
                self._note(worker.reader, number, said)
                continue
            self._finish(worker.reader, said)
            self._next(worker)
            return True
        return worker.process.is_alive() and not worker.is_stuck()

    def _replaced(self, worker: _Worker) -> _Worker:
        reader, number, stop = worker.abandon()
        died = worker.process.exitcode
        hung = died in (-signal.SIGPROF, -signal.SIGKILL)
        self._note(reader, number, "hang" if hung else f"the process died with {died}")
        fresh = _Worker(self._suite, self._seed)
        if number + 1 < stop:
            fresh.give((reader, number + 1, stop))
        else:
            self._finish(reader, {})
            self._next(fresh)
        return fresh

    def _note(self, reader: str, number: int, said: str) -> None:
        self._counts[reader][OTHER] += 1
        print(f"{reader}:{number} (seed {self._seed}): {said}", file=sys.stderr, flush=True)

    def _finish(self, reader: str, said: dict[str, int]) -> None:
        self._counts[reader].update(said)
        self._open[reader] -= 1
        if not self._open[reader]:
            seconds = time.monotonic() - self._began
            print(f"{seconds:8.1f} s  {reader}: {dict(self._counts[reader])}", file=sys.stderr, flush=True)


class _Worker:
    """One process, the way to it, and what it is doing."""

    def __init__(self, suite: Suite, seed: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._current: Any = context.RawArray("q", [-1])
        self.process = context.Process(target=work, args=(theirs, self._current, suite, seed), daemon=True)
        self.process.start()
        theirs.close()
        self.task: Task | None = None
        self._seen = (-1, time.monotonic())

    @property
    def reader(self) -> str:
        return self.task[0] if self.task else ""

    def give(self, task: Task | None) -> None:
        self.task = task
        self._seen = (-1, time.monotonic())
        if task:
            self.connection.send(task)

    def is_stuck(self) -> bool:
        if self._current[0] != self._seen[0]:
            self._seen = (self._current[0], time.monotonic())
        return time.monotonic() - self._seen[1] > _STUCK_S

    def abandon(self) -> Task:
        """Return what is left of the task: from the case that ended the process."""
        self.process.join(1)
        self.process.kill()
        self.process.join()
        if self._current[0] < 0:
            sys.exit("a process that reads the cases does not start")
        self.connection.close()
        reader, start, stop = self.task or ("", 0, 0)
        return reader, max(start, int(self._current[0])), stop

    def dismiss(self) -> None:
        self.connection.send(None)
        self.process.join(10)
        self.connection.close()
