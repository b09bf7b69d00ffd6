"""Reading the body of a request: its type, a limit, a time, and a client that goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from starlette.requests import Request

from onym.errors import ConfigError, InputError, LimitError

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


async def read_body(receive: Receive, max_bytes: int, seconds: float) -> bytes:
    """Return a whole body; one that is too large or too slow is refused as soon as this is known."""
    parts = [part async for part in iter_body(receive, max_bytes, asyncio.get_running_loop().time() + seconds)]
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def iter_body(receive: Receive, max_bytes: int, deadline: float) -> AsyncIterator[bytes]:
    """Yield the parts of a body as they arrive."""
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
    """Return the next message of a request that comes before the deadline."""
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
    """Wait until the client is gone. The body must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


def too_large(max_bytes: int) -> LimitError:
    """Return the refusal of a body that is too large."""
    fix = "send it in parts, or raise --max-body"
    return LimitError("serve-body", f"the body is larger than {max_bytes:,} bytes", fix=fix)


def require_media_type(request: Request, media_type: str) -> None:
    """Refuse other bodies: a page of another site can send forms and plain text without being asked whether it may."""
    stated = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if stated != media_type or request.headers.get("content-encoding", "identity") != "identity":
        fix = f"send Content-Type: {media_type}, without Content-Encoding"
        raise ConfigError("serve-media-type", "the body is of another type", fix=fix)
