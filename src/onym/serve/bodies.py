"""Reading of request bodies, with checks of media type, size, time and disconnection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from starlette.requests import Request

from onym.errors import ConfigError, InputError, LimitError

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class ClientGoneError(Exception):
    """The client has disconnected."""


class SlowBodies:
    """The requests that wait for a part of their body, the longest wait first.

    At the limit, the longest wait is ended: slow bodies must not keep other requests out. The limit also bounds the memory of
    unfinished bodies, as each has at most `max_body` bytes.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._waits: dict[asyncio.Timeout, None] = {}

    def __len__(self) -> int:
        return len(self._waits)

    def watch(self, receive: Receive) -> Receive:
        """Return the `receive` of a request such that it counts as waiting until its body is complete."""
        is_complete = False

        async def receive_next() -> MutableMapping[str, Any]:
            nonlocal is_complete
            message = await (receive() if is_complete else self._wait(receive))
            is_complete = not message.get("more_body")
            return message

        return receive_next

    async def _wait(self, receive: Receive) -> MutableMapping[str, Any]:
        if len(self._waits) >= self._maximum:
            longest = next(iter(self._waits))
            del self._waits[longest]
            longest.reschedule(0)  # raises TimeoutError there
        async with asyncio.timeout(None) as wait:
            self._waits[wait] = None
            try:
                return await receive()
            finally:
                self._waits.pop(wait, None)


async def read_body(receive: Receive, max_bytes: int, seconds: float) -> bytes:
    """Return the whole body; raise as soon as it is too large or too slow."""
    parts = [part async for part in iter_body(receive, max_bytes, asyncio.get_running_loop().time() + seconds)]
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def iter_body(receive: Receive, max_bytes: int, deadline: float) -> AsyncIterator[bytes]:
    """Yield the chunks of a body as they arrive."""
    size, is_more = 0, True
    while is_more:
        message = await receive_message(receive, deadline)
        is_more = bool(message.get("more_body"))
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > max_bytes:
            raise too_large(max_bytes)
        yield part


async def receive_message(receive: Receive, deadline: float) -> MutableMapping[str, Any]:
    """Return the next message of a request; raise if the deadline passes or the client disconnects."""
    try:
        async with asyncio.timeout_at(deadline):
            message = await receive()
    except TimeoutError:
        fix = "send it faster, or raise --body-timeout"
        raise InputError("serve-slow-body", "the body did not arrive in time", fix=fix) from None
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return message


async def wait_until_gone(receive: Receive) -> None:
    """Wait until the client disconnects. The body must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


def too_large(max_bytes: int) -> LimitError:
    """Return the error for a body that is too large."""
    fix = "send it in parts, or raise --max-body"
    return LimitError("serve-body", f"the body is larger than {max_bytes:,} bytes", fix=fix)


def require_media_type(request: Request, media_type: str) -> None:
    """Reject other media types: web pages of other origins can send forms and plain text without a CORS preflight."""
    stated = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if stated != media_type or request.headers.get("content-encoding", "identity") != "identity":
        fix = f"send Content-Type: {media_type}, without Content-Encoding"
        raise ConfigError("serve-media-type", "the body has the wrong media type", fix=fix)
