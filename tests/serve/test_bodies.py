"""Tests of reading request bodies: large, slow and interrupted ones are rejected."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from onym.errors import InputError, LimitError
from onym.serve.bodies import ClientGoneError, Receive, SlowBodies, read_body, wait_until_gone

GONE: dict[str, Any] = {"type": "http.disconnect"}


def part(body: bytes, *, is_more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": is_more}


def coming(*messages: dict[str, Any]) -> Receive:
    """Return a `receive` that returns these messages and then blocks forever."""
    rest = list(messages)

    async def receive() -> MutableMapping[str, Any]:
        if not rest:
            await asyncio.sleep(60)
        return rest.pop(0)

    return receive


def read(*messages: dict[str, Any], max_bytes: int = 10, seconds: float = 5.0) -> bytes:
    return asyncio.run(read_body(coming(*messages), max_bytes, seconds))


def test_reads_whole_body() -> None:
    assert read(part(b"abc")) == b"abc"
    assert read(part(b"abc", is_more=True), part(b"", is_more=True), part(b"defghij")) == b"abcdefghij"
    assert read(part(b"")) == b""


def test_rejects_large_body_before_its_end() -> None:
    with pytest.raises(LimitError, match="serve-body"):
        read(part(b"a" * 6, is_more=True), part(b"a" * 5, is_more=True))


def test_rejects_slow_body() -> None:
    with pytest.raises(InputError, match="serve-slow-body"):
        read(part(b"a", is_more=True), seconds=0.05)


def test_raises_if_client_disconnects() -> None:
    with pytest.raises(ClientGoneError):
        read(part(b"a", is_more=True), GONE)
    asyncio.run(asyncio.wait_for(wait_until_gone(coming(part(b""), GONE)), 5))


def test_ends_the_longest_wait_for_a_body_at_the_limit() -> None:
    async def act() -> None:
        bodies = SlowBodies(2)
        slow = [asyncio.create_task(read_body(bodies.watch(coming(part(b"a", is_more=True))), 10, 5.0)) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert ([task.done() for task in slow], len(bodies)) == ([True, False, False], 2)
        assert await read_body(bodies.watch(coming(part(b"abc"))), 10, 5.0) == b"abc"
        with pytest.raises(InputError, match="serve-slow-body"):
            await slow[0]
        with pytest.raises(InputError, match="serve-slow-body"):
            await slow[1]
        slow[2].cancel()
        await asyncio.wait(slow)
        assert not len(bodies)

    asyncio.run(act())


def test_a_complete_body_is_not_waited_for() -> None:
    async def act() -> None:
        bodies = SlowBodies(1)
        receive = bodies.watch(coming(part(b"abc")))
        await read_body(receive, 10, 5.0)
        leaving = asyncio.create_task(wait_until_gone(receive))
        await asyncio.sleep(0.01)
        assert not len(bodies)
        leaving.cancel()

    asyncio.run(act())
