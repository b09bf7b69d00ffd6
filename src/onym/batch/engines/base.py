"""What the engines share: what a run is about, and how often a shard may fail."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from onym.batch.ledger import Quarantined, quarantine, release
from onym.batch.pipes import require_no_error
from onym.batch.plan import Shard
from onym.store.storage import Storage

ATTEMPTS = 3
"""A shard that fails so often is quarantined, and the rest goes on."""
PERMANENT = frozenset({"batch-input-changed", "input-missing"})
"""Failures that another attempt does not mend."""
DIED = "batch-worker-died"
"""The code of a shard whose process ended before it was done."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a shard failed: a permanent code, and what happened, without any text."""

    code: str
    what: str


class Engine(Protocol):
    """Links shards, in any order, and tells the queue what became of each."""

    def run(self, queue: ShardQueue) -> None:
        """Link until nothing waits; an error that concerns all shards is raised."""


def _silent(done: int) -> None:
    """Tell nobody."""


@dataclass
class ShardQueue:
    """The shards that wait, and what became of the others. `on_change` is called after each of them."""

    storage: Storage
    waiting: deque[Shard]
    pipeline: str | None = None
    on_change: Callable[[int], None] = _silent
    done: set[int] = field(default_factory=set)
    quarantined: dict[int, Failure] = field(default_factory=dict)
    _failures: Counter[int] = field(default_factory=Counter)

    @classmethod
    def of(cls, shards: Iterable[Shard], storage: Storage, pipeline: str | None = None) -> ShardQueue:
        """Make a queue of shards in order."""
        return cls(storage, deque(shards), pipeline)

    def replied(self, shard: Shard, reply: dict[str, Any]) -> None:
        """Note what a worker replied of a shard; an error that concerns all shards is raised."""
        require_no_error(reply)
        if "done" in reply:
            self.succeeded(shard)
        else:
            self.failed(shard, Failure(reply["code"], reply["what"]))

    def succeeded(self, shard: Shard) -> None:
        """Note that a shard is done."""
        self.done.add(shard.number)
        release(self.storage, shard.number)
        self.on_change(len(self.done))

    def failed(self, shard: Shard, failure: Failure) -> None:
        """Let a shard wait again, or give it up."""
        self._failures[shard.number] += 1
        if self._failures[shard.number] < ATTEMPTS and failure.code not in PERMANENT:
            self.waiting.append(shard)
            return
        self.quarantined[shard.number] = failure
        quarantine(self.storage, Quarantined(shard.number, failure.code, failure.what))
        self.on_change(len(self.done))
