"""Jobs that wait: first in, first out, taken together by characters. What nobody waits for any more is not linked.

How long those that wait will take is told by the last batches.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from onym.serve.refusals import timeout_error

_HEARD = 20  # batches that the estimate is made of
_MAX_RATIO = 4.0
_ENOUGH = 5  # batches: fewer say little, the first after a start least of all
_FIXED = 200  # characters that a job costs besides its own


class JobReply(NamedTuple):
    """What a linker process answered: status, JSON, and the release that it is of."""

    status: int
    body: bytes
    release: str


@dataclass(eq=False, slots=True)
class Job:
    """Something to do until a deadline, by the clock of the event loop. `reply` is cancelled where nobody waits any more."""

    content: dict[str, Any] = field(repr=False)
    characters: int
    deadline: float
    reply: asyncio.Future[JobReply]
    since: float = 0.0


class JobQueue:
    """Takes jobs, and gives them away in batches of some characters, shared among those who wait for work."""

    def __init__(self, max_characters: int) -> None:
        self._max = max_characters
        self._jobs: deque[Job] = deque()
        self._filled = asyncio.Event()
        self._takers = 0
        self.characters = 0

    def __len__(self) -> int:
        return len(self._jobs)

    def put(self, job: Job) -> None:
        """Let a job wait."""
        job.since = asyncio.get_running_loop().time()
        self._jobs.append(job)
        self.characters += job.characters
        self._filled.set()

    def put_back(self, jobs: Sequence[Job]) -> None:
        """Let jobs wait again, before all others: they were taken, and nobody has them."""
        self._jobs.extendleft(reversed(jobs))
        self.characters += sum(job.characters for job in jobs)
        self._filled.set()

    def drop(self, job: Job) -> None:
        """Forget a job for which nobody waits; one that is being linked is left alone."""
        job.reply.cancel()
        if job in self._jobs:
            self._jobs.remove(job)
            self.characters -= job.characters

    async def take(self) -> list[Job]:
        """Return the next jobs: at least one, and as many more as fit. Those whose time is over are refused on the way."""
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
    """Seconds for a character, over the last batches; a short one counts for little.

    A batch counts at most `_MAX_RATIO` times as slow as the median one: what one bad request took does not decide how long
    others are expected to wait.

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
        """Hear of a batch that was answered."""
        self._batches.append((_size(jobs, characters), seconds))
        if len(self._batches) >= _ENOUGH:
            limit = _MAX_RATIO * median(taken / size for size, taken in self._batches)
            taken = sum(min(taken, limit * size) for size, taken in self._batches)
            self._per_character = taken / sum(size for size, _ in self._batches)

    def seconds(self, jobs: int, characters: int) -> float:
        """Return how long some jobs will take; 0 as long as too little was heard."""
        return _size(jobs, characters) * self._per_character


def _size(jobs: int, characters: int) -> int:
    return characters + _FIXED * jobs
