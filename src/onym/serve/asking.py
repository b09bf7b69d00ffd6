"""Waiting for the answer of a job: until it comes, until its time is over, or until nobody wants it any more."""

from __future__ import annotations

import asyncio
from typing import Any

from onym.serve.batching import Job, Reply
from onym.serve.bodies import ClientGoneError, Receive, until_gone
from onym.serve.pool import Pool
from onym.serve.refusals import timed_out


async def ask(pool: Pool, content: dict[str, Any], characters: int, receive: Receive) -> Reply:
    """Return what a pool answers. If the client goes away meanwhile, the job is dropped; no text is linked for nobody."""
    job = pool.put(content, characters)
    gone = asyncio.ensure_future(until_gone(receive))
    try:
        await asyncio.wait((job.reply, gone), timeout=seconds_left(job), return_when=asyncio.FIRST_COMPLETED)
        if job.reply.done():
            return job.reply.result()
        raise ClientGoneError if gone.done() else timed_out()
    finally:
        gone.cancel()
        if not job.reply.done():
            pool.queue.drop(job)


def seconds_left(job: Job) -> float:
    """Return the seconds until the deadline of a job."""
    return max(0.0, job.deadline - asyncio.get_running_loop().time())
