"""Lines of JSON in, lines of JSON out: each is answered once, in order, while the next ones are read.

Only some lines are under way at a time, so that a stream of any length needs little memory and leaves room for others. All of
its lines are answered by one release.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive as StarletteReceive
from starlette.types import Scope, Send

from onym.errors import OnymError
from onym.serve.bodies import ClientGoneError, Receive, received, too_large, until_gone
from onym.serve.jobs import Job
from onym.serve.pool import Pool, ServedPipeline, seconds_left
from onym.serve.refusals import body_of, timed_out
from onym.serve.routes import parse
from onym.serve.routes.link import LinkRequest
from onym.serve.settings import ServeSettings

MEDIA_TYPE = "application/x-ndjson"
_WINDOW = 16  # lines of a stream that are under way


class LinesResponse(Response):
    """Answers the lines of a body."""

    media_type = MEDIA_TYPE

    def __init__(self, pipeline: ServedPipeline, settings: ServeSettings) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._pipeline, self._settings = pipeline, settings

    async def __call__(self, scope: Scope, receive: StarletteReceive, send: Send) -> None:  # noqa: ARG002
        """Send an answer for each line. The head waits for the first one: until then a client may wait for `100 Continue`."""
        is_started = False
        with self._pipeline.current.use() as pool:
            release = (b"onym-release", pool.release["release"].encode())
            start = {"type": "http.response.start", "status": 200, "headers": [*self.raw_headers, release]}
            async with aclosing(answered_lines(receive, pool, self._settings)) as lines:
                async for line in lines:
                    if not is_started:
                        await send(start)
                        is_started = True
                    await send({"type": "http.response.body", "body": line, "more_body": True})
        if not is_started:
            await send(start)
        await send({"type": "http.response.body", "body": b""})


async def answered_lines(receive: Receive, pool: Pool, settings: ServeSettings) -> AsyncGenerator[bytes, None]:
    """Yield the answers to the lines of a body, in order; an error is a line too."""
    under_way: asyncio.Queue[Job | OnymError | None] = asyncio.Queue(_WINDOW)
    reading = asyncio.create_task(_read(receive, pool, settings, under_way))
    taken: Job | OnymError | None = None
    try:
        while True:
            taking = asyncio.ensure_future(under_way.get())
            await asyncio.wait((taking, reading), return_when=asyncio.FIRST_COMPLETED)
            if not taking.done():
                taking.cancel()
                return
            taken = taking.result()
            if taken is None:
                return
            body = body_of(taken) if isinstance(taken, OnymError) else await _body(taken, reading)
            if reading.done():  # it ends when the client is gone
                return
            yield body + b"\n"
    finally:
        reading.cancel()
        rest = [taken, *(under_way.get_nowait() for _ in range(under_way.qsize()))]
        for job in rest:
            if isinstance(job, Job) and not job.reply.done():
                pool.queue.drop(job)


async def _body(job: Job, reading: asyncio.Task[None]) -> bytes:
    """Return the answer of a job, or its error; do not wait for it longer than the client does."""
    await asyncio.wait((job.reply, reading), timeout=seconds_left(job), return_when=asyncio.FIRST_COMPLETED)
    try:
        return job.reply.result().body if job.reply.done() else body_of(timed_out())
    except OnymError as e:
        return body_of(e)


async def _read(
    receive: Receive, pool: Pool, settings: ServeSettings, under_way: asyncio.Queue[Job | OnymError | None]
) -> None:
    """Queue the lines of a body as jobs, and None at its end; then wait for the client to go."""
    number = 0
    try:
        async for line in iter_lines(receive, settings):
            number += 1
            await under_way.put(_job(line, number, pool))
    except ClientGoneError:
        return
    except OnymError as e:  # the body is too slow, or a line too long: nothing after it can be read
        await under_way.put(e)
    await under_way.put(None)
    await until_gone(receive)


def _job(line: bytes, number: int, pool: Pool) -> Job | OnymError:
    try:
        wanted = parse(LinkRequest, line, f"line {number}")
    except OnymError as e:
        return e
    return pool.put({"op": "link", **wanted.job()}, wanted.characters)


async def iter_lines(receive: Receive, settings: ServeSettings) -> AsyncIterator[bytes]:
    """Yield the lines of a body that are not blank; one may be as long as the body of another request."""
    rest, is_more = b"", True
    loop = asyncio.get_running_loop()
    while is_more:
        message = await received(receive, loop.time() + settings.body_timeout)
        is_more = bool(message.get("more_body"))
        *lines, rest = (rest + message.get("body", b"")).split(b"\n")
        if not is_more:
            lines.append(rest)
        for line in lines:
            if len(line) > settings.max_body:
                raise too_large(settings.max_body)
            if line.strip():
                yield line
        if len(rest) > settings.max_body:
            raise too_large(settings.max_body)
