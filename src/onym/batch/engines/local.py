"""Processes of this machine: one for each worker, with a pipe of its own, so that the death of one costs its own shard alone.

A worker ends when its driver does, since its standard input ends then. No process is forked and nothing is pickled: a worker
is a new Python that is told what to do by lines of JSON.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, Any

from onym.batch.engines.base import DIED, Failure, ShardQueue
from onym.batch.pipes import require_no_error
from onym.batch.plan import Shard
from onym.errors import InternalError

WORKER = (sys.executable, "-m", "onym.batch.worker")
_STARTS = 10  # workers in a row that may die before they are ready


class LocalEngine:
    """Links shards in some processes. `command` starts one of them."""

    def __init__(self, workers: int, command: Sequence[str] = WORKER) -> None:
        self._workers, self._command = workers, command

    def run(self, queue: ShardQueue) -> None:
        """Link until nothing waits."""
        run = _Run(queue, self._workers, self._command)
        try:
            run.to_the_end()
        finally:
            run.close()


class _Worker:
    """A process, the shard that it links, and what it has said of its next line."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        self.process = subprocess.Popen(list(command), env=environment, start_new_session=True, **pipes)  # noqa: S603 - ours
        self.shard: Shard | None = None
        self.is_ready = False
        self._heard = b""

    @property
    def out(self) -> IO[bytes]:
        return self.process.stdout  # type: ignore[return-value]

    def tell(self, value: dict[str, Any]) -> None:
        """Send a line; a worker that is dead is found out by reading."""
        try:
            self.process.stdin.write(json.dumps(value).encode() + b"\n")  # type: ignore[union-attr]
        except BrokenPipeError:
            return

    def heard(self) -> list[dict[str, Any]] | None:
        """Return the lines that have come, or None where the process has ended."""
        data = os.read(self.out.fileno(), 65_536)
        if not data:
            return None
        *lines, self._heard = (self._heard + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def end(self) -> int:
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        return self.process.wait()


class _Run:
    """A run while it goes on."""

    def __init__(self, queue: ShardQueue, workers: int, command: Sequence[str]) -> None:
        self._queue, self._wanted, self._command = queue, workers, command
        self._selector = selectors.DefaultSelector()
        self._alive: list[_Worker] = []
        self._dead_starts = 0
        threads = max(1, (os.cpu_count() or 1) // workers)
        self._environment = {"OMP_NUM_THREADS": str(threads), "POLARS_MAX_THREADS": str(threads), **os.environ}

    def to_the_end(self) -> None:
        while self._queue.waiting or any(worker.shard for worker in self._alive):
            self._start_missing()
            for key, _ in self._selector.select():
                self._hear(key.data)

    def close(self) -> None:
        for worker in self._alive:
            worker.end()
        self._selector.close()

    def _start_missing(self) -> None:
        """Start workers for shards that wait, and give shards to those that are idle."""
        busy = sum(worker.shard is not None for worker in self._alive)
        while len(self._alive) < min(self._wanted, busy + len(self._queue.waiting)):
            worker = _Worker(self._command, self._environment)
            worker.tell({"out": self._queue.storage.url, "pipeline": self._queue.pipeline})
            self._alive.append(worker)
            self._selector.register(worker.out, selectors.EVENT_READ, worker)
        for worker in self._alive:
            if worker.is_ready and worker.shard is None and self._queue.waiting:
                worker.shard = self._queue.waiting.popleft()
                worker.tell({"shard": worker.shard.number})

    def _hear(self, worker: _Worker) -> None:
        lines = worker.heard()
        if lines is None:
            self._bury(worker)
        for line in lines or ():
            require_no_error(line)
            if "ready" in line:
                worker.is_ready, self._dead_starts = True, 0
            else:
                self._finish(worker, line)

    def _finish(self, worker: _Worker, line: dict[str, Any]) -> None:
        shard, worker.shard = worker.shard, None
        if shard is None:
            raise InternalError("internal-error", "a worker told of a shard that it was not given")
        self._queue.replied(shard, line)

    def _bury(self, worker: _Worker) -> None:
        """Let the shard of a dead worker wait again; another worker is started where one is needed."""
        self._selector.unregister(worker.out)
        self._alive.remove(worker)
        status = worker.end()
        if worker.shard is not None:
            self._queue.failed(worker.shard, Failure(DIED, f"the process that linked it ended with status {status}"))
        elif not worker.is_ready:
            self._dead_starts += 1
            if self._dead_starts > _STARTS:
                what = f"{self._dead_starts} workers in a row ended before they were ready, the last with status {status}"
                fix = "see what they wrote to standard error; is there enough memory?"
                raise InternalError("batch-worker-died", what, fix=fix)
