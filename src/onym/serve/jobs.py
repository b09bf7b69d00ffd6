"""The job queue: first in, first out, taken in batches by number of characters. Jobs of disconnected clients are dropped.

The waiting time of a new job is estimated from the most recent batches.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from onym.serve.refusals import timeout_error

_HEARD = 20  # number of most recent batches that the estimate of the waiting time uses
_MAX_RATIO = 4.0  # cap on the time per character of a batch, relative to the median
_ENOUGH = 5  # minimum number of batches for an estimate, because the first ones after a start are slow
_FIXED = 200  # fixed cost of a job, as the number of characters that take the same time to link


class JobReply(NamedTuple):
    """The reply of a linker: HTTP status, JSON body, and release."""

    status: int
    body: bytes
    release: str


@dataclass(eq=False, slots=True)
class Job:
    """A job with a deadline (event loop time). `reply` is cancelled when the client disconnects."""

    content: dict[str, Any] = field(repr=False)
    characters: int
    deadline: float
    reply: asyncio.Future[JobReply]
    since: float = 0.0


class JobQueue:
    """A FIFO queue that hands out batches of at most `max_characters`, split evenly among the waiting linkers."""

    def __init__(self, max_characters: int) -> None:
        self._max = max_characters
        self._jobs: deque[Job] = deque()
        self._filled = asyncio.Event()
        self._takers = 0
        self.characters = 0

    def __len__(self) -> int:
        return len(self._jobs)

    def put(self, job: Job) -> None:
        """Append a job."""
        job.since = asyncio.get_running_loop().time()
        self._jobs.append(job)
        self.characters += job.characters
        self._filled.set()

    def put_back(self, jobs: Sequence[Job]) -> None:
        """Put unsent jobs back at the front of the queue."""
        self._jobs.extendleft(reversed(jobs))
        self.characters += sum(job.characters for job in jobs)
        self._filled.set()

    def drop(self, job: Job) -> None:
        """Cancel a job and remove it from the queue. A job that is already being linked still runs to its end."""
        job.reply.cancel()
        if job in self._jobs:
            self._jobs.remove(job)
            self.characters -= job.characters

    async def take(self) -> list[Job]:
        """Wait for jobs and return the next batch: at least one job. Jobs past their deadline fail with a timeout error."""
        while True:
            self._takers += 1
            try:
                await self._filled.wait()
                batch = self._next(self._takers)
            finally:
                self._takers -= 1
            if batch:
                return batch

    def _next(self, takers: int) -> list[Job]:
        now = asyncio.get_running_loop().time()
        share = min(self._max, -(-self.characters // takers))
        batch: list[Job] = []
        taken = 0
        while self._jobs and (not batch or taken + self._jobs[0].characters <= share):
            job = self._jobs.popleft()
            self.characters -= job.characters
            if job.reply.done():
                continue
            if job.deadline <= now:
                job.reply.set_exception(timeout_error())
                continue
            batch.append(job)
            taken += job.characters
        if not self._jobs:
            self._filled.clear()
        return batch


class Pace:
    """Seconds per character, averaged over the last batches and weighted by size.

    The time per character of a batch is capped at `_MAX_RATIO` times the median, so that a single slow request does not distort
    the estimate.

    >>> pace = Pace()
    >>> for _ in range(10):
    ...     pace.hear(jobs=5, characters=9_000, seconds=1.0)
    >>> round(pace.seconds(jobs=50, characters=90_000), 3)
    10.0
    """

    def __init__(self) -> None:
        self._batches: deque[tuple[int, float]] = deque(maxlen=_HEARD)
        self._per_character = 0.0

    def hear(self, jobs: int, characters: int, seconds: float) -> None:
        """Add the duration of a batch."""
        self._batches.append((_size(jobs, characters), seconds))
        if len(self._batches) >= _ENOUGH:
            limit = _MAX_RATIO * median(taken / size for size, taken in self._batches)
            taken = sum(min(taken, limit * size) for size, taken in self._batches)
            self._per_character = taken / sum(size for size, _ in self._batches)

    def seconds(self, jobs: int, characters: int) -> float:
        """Return the expected duration of jobs; 0 until there are enough batches for an estimate."""
        return _size(jobs, characters) * self._per_character


def _size(jobs: int, characters: int) -> int:
    return characters + _FIXED * jobs
