"""Tests of the job queue, and of estimating waiting times."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import LimitError
from onym.serve.jobs import Job, JobQueue, Pace

T = TypeVar("T")


def with_queue(act: Callable[[JobQueue], Awaitable[T]], max_characters: int = 10) -> T:
    async def run() -> T:
        return await act(JobQueue(max_characters))

    return asyncio.run(run())


def job(characters: int, seconds: float = 60.0) -> Job:
    loop = asyncio.get_running_loop()
    return Job({"op": "link"}, characters, loop.time() + seconds, loop.create_future())


def test_takes_jobs_in_order_by_characters() -> None:
    async def act(queue: JobQueue) -> list[list[int]]:
        for characters in (4, 6, 1, 50, 2, 3):
            queue.put(job(characters))
        return [[each.characters for each in await queue.take()] for _ in range(4)]

    assert with_queue(act) == [[4, 6], [1], [50], [2, 3]]


def test_waiting_linkers_share_jobs() -> None:
    async def act(queue: JobQueue) -> list[int]:
        takers = [asyncio.create_task(queue.take()) for _ in range(2)]
        await asyncio.sleep(0)
        for _ in range(8):
            queue.put(job(1))
        return sorted(len(batch) for batch in await asyncio.gather(*takers))

    assert with_queue(act, 100) == [4, 4]


def test_skips_cancelled_and_expired_jobs() -> None:
    async def act(queue: JobQueue) -> None:
        late, cancelled, right = job(1, -1.0), job(1), job(1)
        for each in (late, cancelled, right):
            queue.put(each)
        cancelled.reply.cancel()
        assert await queue.take() == [right]
        with pytest.raises(LimitError, match="serve-timeout"):
            late.reply.result()

    with_queue(act)


def test_dropped_job_leaves_queue() -> None:
    async def act(queue: JobQueue) -> None:
        first, second = job(3), job(4)
        queue.put(first)
        queue.put(second)
        queue.drop(first)
        assert (len(queue), queue.characters, first.reply.cancelled()) == (1, 4, True)
        assert await queue.take() == [second]
        queue.drop(second)
        assert (len(queue), queue.characters) == (0, 0)

    with_queue(act)


def test_returned_jobs_come_first() -> None:
    async def act(queue: JobQueue) -> None:
        first, second, third = job(5), job(5), job(5)
        for each in (first, second, third):
            queue.put(each)
        queue.put_back(await queue.take())
        assert await queue.take() == [first, second]
        assert queue.characters == 5

    with_queue(act)


def test_cancelled_take_removes_nothing() -> None:
    async def act(queue: JobQueue) -> None:
        taking = asyncio.create_task(queue.take())
        await asyncio.sleep(0)
        queue.put(job(1))
        taking.cancel()
        await asyncio.gather(taking, return_exceptions=True)
        assert len(await queue.take()) == 1

    with_queue(act)


@given(sizes=st.lists(st.integers(1, 30), max_size=30))
def test_takes_each_job_once_in_order(sizes: list[int]) -> None:
    async def act(queue: JobQueue) -> None:
        jobs = [job(size) for size in sizes]
        for each in jobs:
            queue.put(each)
        taken: list[Job] = []
        while len(queue):
            batch = await queue.take()
            assert len(batch) == 1 or sum(each.characters for each in batch) <= 10
            taken += batch
        assert taken == jobs
        assert queue.characters == 0

    with_queue(act)


def test_no_estimate_before_enough_batches() -> None:
    pace = Pace()
    for _ in range(4):
        pace.hear(jobs=1, characters=5, seconds=9.0)
    assert pace.seconds(jobs=100, characters=100_000) == 0.0
    pace.hear(jobs=1, characters=5, seconds=9.0)
    assert pace.seconds(jobs=100, characters=100_000) > 0.0


def test_slow_short_job_barely_changes_estimate() -> None:
    pace = Pace()
    for _ in range(20):
        pace.hear(jobs=10, characters=30_000, seconds=1.0)
    pace.hear(jobs=1, characters=1, seconds=1.0)  # this job is thousands of times slower per character than the others
    assert pace.seconds(jobs=10, characters=30_000) < 1.5


def test_slow_outlier_barely_changes_estimate() -> None:
    pace = Pace()
    for _ in range(10):
        pace.hear(jobs=1, characters=300, seconds=0.01)
    pace.hear(jobs=1, characters=100_000, seconds=29.0)
    for _ in range(3):
        pace.hear(jobs=1, characters=300, seconds=0.01)
    assert pace.seconds(jobs=10, characters=3_000) < 0.5


def test_estimate_uses_recent_batches() -> None:
    pace = Pace()
    for seconds in (10.0, 1.0):
        for _ in range(50):
            pace.hear(jobs=1, characters=10_000, seconds=seconds)
    assert pace.seconds(jobs=1, characters=10_000) == pytest.approx(1.0, abs=0.1)
