"""The shard queue with its retry limit, which all engines use, and the engine that links shards in local processes.

Each process has its own pipe, so that a process that dies fails only its own shard. The engine for Ray clusters is in
`onym.batch.on_ray`.
"""

from __future__ import annotations

import selectors
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from onym.batch.ledger import Quarantined, quarantine, release
from onym.batch.plan import Shard
from onym.errors import InternalError
from onym.store.storage import Storage
from onym.workers import Worker, require_no_error, worker_command

ATTEMPTS = 3
"""A shard that fails this many times is quarantined; the run continues with the other shards."""
PERMANENT = frozenset({"batch-input-changed", "input-missing"})
"""Codes of failures that are not retried."""
DIED = "batch-worker-died"
"""The error code for a shard whose process died."""
WORKER = worker_command("onym.batch.worker")
_STARTS = 10  # the run fails if this many workers in a row die before they are ready


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a shard failed: an error code and a message, without text of documents."""

    code: str
    what: str


class Engine(Protocol):
    """An engine, which links the shards of a queue in any order and reports the result of each shard to the queue."""

    def run(self, queue: ShardQueue) -> None:
        """Link all shards of the queue. An error that affects all shards is raised."""


@dataclass(frozen=True, slots=True)
class Advance:
    """Progress of a run: linked documents, fraction of the input bytes, and finished shards."""

    documents: int
    share: float
    done: int
    shards: int


def ignore(advance: Advance) -> None:
    """No-op progress callback."""


@dataclass
class ShardQueue:
    """The shards that are not linked yet, and the results of finished shards. `on_change` is called on progress."""

    storage: Storage
    waiting: deque[Shard]
    pipeline: str | None = None
    on_change: Callable[[Advance], None] = ignore
    done: set[int] = field(default_factory=set)
    quarantined: dict[int, Failure] = field(default_factory=dict)
    _failures: Counter[int] = field(default_factory=Counter)
    _running: dict[int, tuple[int, float]] = field(default_factory=dict)
    _documents: int = 0
    _bytes: int = 0

    def __post_init__(self) -> None:
        self._shards, self._all_bytes = len(self.waiting), sum(shard.bytes for shard in self.waiting)

    @classmethod
    def of(cls, shards: Iterable[Shard], storage: Storage, pipeline: str | None = None) -> ShardQueue:
        """Create a queue of shards, in order."""
        return cls(storage, deque(shards), pipeline)

    def note_reply(self, shard: Shard, reply: dict[str, Any]) -> None:
        """Record a worker's reply for a shard. An error that affects all shards is raised."""
        require_no_error(reply)
        if "done" in reply:
            self.note_success(shard, reply.get("documents", 0))
        else:
            self.note_failure(shard, Failure(reply["code"], reply["what"]))

    def note_success(self, shard: Shard, documents: int = 0) -> None:
        """Record that a shard is done, with its number of documents."""
        self.done.add(shard.number)
        release(self.storage, shard.number)
        self._finish(shard, documents)

    def advance(self, shard: Shard, documents: int, share: float) -> None:
        """Record the progress of a running shard: linked documents, and the fraction of its input that was read."""
        self._running[shard.number] = documents, share * shard.bytes
        self._report()

    def note_failure(self, shard: Shard, failure: Failure) -> None:
        """Queue a failed shard again, or quarantine it after too many attempts or a permanent failure."""
        self._running.pop(shard.number, None)
        self._failures[shard.number] += 1
        if self._failures[shard.number] < ATTEMPTS and failure.code not in PERMANENT:
            self.waiting.append(shard)
            return
        self.quarantined[shard.number] = failure
        quarantine(self.storage, Quarantined(shard.number, failure.code, failure.what))
        self._finish(shard, 0)

    def _finish(self, shard: Shard, documents: int) -> None:
        self._running.pop(shard.number, None)
        self._documents += documents
        self._bytes += shard.bytes
        self._report()

    def _report(self) -> None:
        documents = self._documents + sum(count for count, _ in self._running.values())
        done = self._bytes + sum(size for _, size in self._running.values())
        self.on_change(Advance(documents, done / max(1, self._all_bytes), len(self.done), self._shards))


class LocalEngine:
    """Links shards in local worker processes. `command` starts one worker process."""

    def __init__(self, workers: int, command: Sequence[str] = WORKER) -> None:
        self._workers, self._command = workers, command

    def run(self, queue: ShardQueue) -> None:
        """Link all shards of the queue."""
        run = _LocalRun(queue, self._workers, self._command)
        try:
            run.to_the_end()
        finally:
            run.close()


class _ShardWorker(Worker):
    """A worker process with the shard that it is linking."""

    shard: Shard | None = None
    is_ready = False


class _LocalRun:
    """The state of a running `LocalEngine`."""

    def __init__(self, queue: ShardQueue, workers: int, command: Sequence[str]) -> None:
        self._queue, self._wanted, self._command = queue, workers, command
        self._selector = selectors.DefaultSelector()
        self._alive: list[_ShardWorker] = []
        self._dead_starts = 0

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
        """Start missing workers, and give queued shards to idle ones."""
        busy = sum(worker.shard is not None for worker in self._alive)
        while len(self._alive) < min(self._wanted, busy + len(self._queue.waiting)):
            worker = _ShardWorker(self._command, self._wanted)
            worker.tell({"out": self._queue.storage.url, "pipeline": self._queue.pipeline})
            self._alive.append(worker)
            self._selector.register(worker.out, selectors.EVENT_READ, worker)
        for worker in self._alive:
            if worker.is_ready and worker.shard is None and self._queue.waiting:
                worker.shard = self._queue.waiting.popleft()
                worker.tell({"shard": worker.shard.number})

    def _hear(self, worker: _ShardWorker) -> None:
        lines = worker.read_replies()
        if lines is None:
            self._bury(worker)
        for line in lines or ():
            require_no_error(line)
            if "ready" in line:
                worker.is_ready, self._dead_starts = True, 0
            elif "share" in line:
                self._advance(worker, line)
            else:
                self._finish(worker, line)

    def _advance(self, worker: _ShardWorker, line: dict[str, Any]) -> None:
        if worker.shard is not None:
            self._queue.advance(worker.shard, line["documents"], line["share"])

    def _finish(self, worker: _ShardWorker, line: dict[str, Any]) -> None:
        shard, worker.shard = worker.shard, None
        if shard is None:
            raise InternalError("internal-error", "a worker reported a shard that it was not given")
        self._queue.note_reply(shard, line)

    def _bury(self, worker: _ShardWorker) -> None:
        """Remove a dead worker and record the failure of its shard; raise if too many workers die at startup."""
        self._selector.unregister(worker.out)
        self._alive.remove(worker)
        status = worker.end()
        if worker.shard is not None:
            self._queue.note_failure(worker.shard, Failure(DIED, f"the worker process died with status {status}"))
        elif not worker.is_ready:
            self._dead_starts += 1
            if self._dead_starts > _STARTS:
                what = f"{self._dead_starts} workers in a row died before they were ready, the last with status {status}"
                fix = "read their standard error, and check that there is enough memory"
                raise InternalError("batch-worker-died", what, fix=fix)
