"""Connections that send nothing, or half a head."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from onym.serve.connections import protocol_with
from onym.serve.server import listening

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def app(scope: object, receive: object, send: object) -> None:
    await asyncio.sleep(0.4)  # longer than a head may take
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})  # type: ignore[operator]
    await send({"type": "http.response.body", "body": b"ok"})  # type: ignore[operator]


async def said(data: bytes, port: int, again: bytes = b"") -> tuple[bytes, float]:
    """Return what comes back until the connection ends, and after how many seconds that is."""
    began = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    found = b""
    while part := await asyncio.wait_for(reader.read(65_536), 10):
        found += part
        if again:
            writer.write(again)
            again = b""
    writer.close()
    return found, time.monotonic() - began


@asynccontextmanager
async def serving(asgi: Any, head_timeout: float, connections: int, keep_alive: int) -> AsyncIterator[int]:
    """Serve an application while the block runs, and give its port."""
    with listening("127.0.0.1", 0) as listener:
        http = protocol_with(head_timeout, connections)
        config = uvicorn.Config(asgi, http=http, lifespan="off", log_config=None, timeout_keep_alive=keep_alive)
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve([listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        yield listener.getsockname()[1]
        server.should_exit = True
        await task


@pytest.mark.slow
@pytest.mark.parametrize("data", [b"", b"GET / HTTP/1.1\r\nHost: "])
def test_half_a_head_ends_and_whole_ones_do_not(data: bytes) -> None:
    async def act() -> None:
        async with serving(app, 0.2, 100, 1) as port:
            found, seconds = await said(data, port)
            assert (found, seconds < 1.0) == (b"", True)
            found, _ = await said(REQUEST, port, again=REQUEST)
            assert found.count(b"200 OK") == 2
            found, seconds = await said(REQUEST, port, again=b"GET / HT")
            assert (found.count(b"200 OK"), seconds < 5.0) == (1, True)

    asyncio.run(act())


def test_a_connection_too_many_ends_the_one_that_waits_since_the_beginning() -> None:
    async def act() -> None:
        async with serving(app, 60, 3, 60) as port:
            busy, idle, new = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            busy[1].write(REQUEST)
            idle[1].write(REQUEST)
            await idle[0].readuntil(b"ok")  # it is answered, and the connection is kept
            busy[1].write(REQUEST)
            newest = await asyncio.open_connection("127.0.0.1", port)
            assert await asyncio.wait_for(ended(new[0]), 10)  # it has sent nothing at all
            newest[1].write(REQUEST)
            assert b"200 OK" in await asyncio.wait_for(newest[0].readuntil(b"ok"), 10)
            assert (await asyncio.wait_for(busy[0].readuntil(b"ok"), 10)).count(b"200 OK") == 1
            for _, writer in (busy, idle, new, newest):
                writer.close()

    asyncio.run(act())


def test_where_none_waits_a_new_connection_ends_at_once() -> None:
    async def act() -> None:
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def until_it_may_end(scope: object, receive: object, send: object) -> None:
            begun.set()
            await may_end.wait()
            await app(scope, receive, send)

        async with serving(until_it_may_end, 60, 1, 60) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REQUEST)
            await begun.wait()
            other, other_writer = await asyncio.open_connection("127.0.0.1", port)
            assert await asyncio.wait_for(ended(other), 10)
            may_end.set()
            assert b"200 OK" in await asyncio.wait_for(reader.readuntil(b"ok"), 10)
            writer.close()
            other_writer.close()

    asyncio.run(act())


async def ended(reader: asyncio.StreamReader) -> bool:
    """Wait until a connection ends."""
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True
