"""Run the work of a suite in child processes that may crash or hang, and measure time and memory there.

A suite defines `work(pipe, *arguments)`, which does its setup and then answers each of `requests(pipe)` with `pipe.send`. A
`Child` runs it in a process of its own, which starts with the first request, and again after it was lost or closed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Lock
from typing import Any, TypeVar
from unittest.mock import patch

T = TypeVar("T")
R = TypeVar("R")
_environ_lock = Lock()


class LostError(Exception):
    """Raised when a child process does not answer; `how` is `hangs` or `dies`."""

    def __init__(self, how: str, status: int | None, seconds: float) -> None:
        super().__init__(how)
        self.how, self.status, self.seconds = how, status, seconds


class Child:
    """A child process that runs `work`, with a timeout for each request in seconds."""

    def __init__(
        self,
        work: Callable[..., None],
        *arguments: str,
        timeout: float,
        env: Mapping[str, str] | None = None,
        is_quiet: bool = False,
    ) -> None:
        self._target, self._arguments = work, arguments
        self._timeout, self._env, self._is_quiet = timeout, env or {}, is_quiet
        self._process: multiprocessing.process.BaseProcess | None = None

    def ask(self, request: Any, timeout: float | None = None) -> Any:
        """Send a request and return the response."""
        process = self._process or self._start()
        started, status = time.perf_counter(), None
        try:
            self._pipe.send(request)
            if self._pipe.poll(timeout or self._timeout):
                return self._pipe.recv()
        except (EOFError, OSError):
            process.join()
            status = process.exitcode
        self.close()
        how = "hangs" if status in (None, -signal.SIGPROF) else "dies"  # SIGPROF: the suite's CPU timer stopped a hang
        raise LostError(how, status, time.perf_counter() - started)

    def close(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None

    def _start(self) -> multiprocessing.process.BaseProcess:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        arguments = (self._target, theirs, self._arguments, self._is_quiet)
        self._process = process = context.Process(target=_run, args=arguments, daemon=True)
        with _environ_lock, patch.dict(os.environ, self._env):
            process.start()
        theirs.close()
        try:
            self._pipe.recv()
        except EOFError:
            sys.exit("a child process did not start")
        return process


def _run(work: Callable[..., None], pipe: Connection, arguments: tuple[str, ...], is_quiet: bool) -> None:
    """Run `work` in the child. Its stdout becomes stderr, because the last line of a benchmark's stdout is its figures."""
    if is_quiet:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(2, 1)
    work(pipe, *arguments)


def requests(pipe: Connection) -> Iterator[Any]:
    """Signal that setup is done, then yield requests until the parent closes the pipe."""
    pipe.send("ready")
    with suppress(EOFError):
        while True:
            yield pipe.recv()


def judge_all(cases: Iterable[T], children: Sequence[Child], judge: Callable[[Child, T], R]) -> list[R]:
    """Return the result of `judge` for each case, in parallel: each call has one of the children to itself."""
    idle: SimpleQueue[Child] = SimpleQueue()
    for child in children:
        idle.put(child)

    def judge_one(case: T) -> R:
        child = idle.get()
        try:
            return judge(child, case)
        finally:
            idle.put(child)

    try:
        with ThreadPoolExecutor(len(children)) as pool:
            return list(pool.map(judge_one, cases))
    finally:
        for child in children:
            child.close()
