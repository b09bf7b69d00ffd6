"""Connections that do not wait for ever, and not too many of them: uvicorn limits neither.

It has no limit of time for the head of a request, and takes connections until the system has no file left for another one.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


class Connections:
    """The connections of a service. Where there are as many as may be, a new one takes the room of one that is idle."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._all: set[Any] = set()
        self._waiting: dict[Any, asyncio.TimerHandle] = {}  # for a head, those that wait for longest first

    def enter(self, connection: Any) -> None:
        """Take a new one; where no other can end, it ends at once."""
        if len(self._all) >= self._maximum:
            idle = next(iter(self._waiting), connection)
            idle.transport.abort()
            self.leave(idle)
        self._all.add(connection)

    def leave(self, connection: Any) -> None:
        """Forget one that ended."""
        self.wait_no_more(connection)
        self._all.discard(connection)

    def wait(self, connection: Any, seconds: float) -> None:
        """Let a connection end if no head of a request arrives in time; one that waits already waits no longer than that."""
        if connection not in self._waiting:
            self._waiting[connection] = connection.loop.call_later(seconds, connection.transport.close)

    def wait_no_more(self, connection: Any) -> None:
        """Hear that the head of a request has arrived."""
        if timer := self._waiting.pop(connection, None):
            timer.cancel()


def protocol_with(head_timeout: float, max_connections: int) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol, with connections that end where the head of a request does not arrive in time.

    The first head has `head_timeout` seconds. A later one has as long as an idle connection is kept: after a refusal, what is
    left of a body that nobody reads looks like the beginning of a head.
    """
    connections = Connections(max_connections)

    class Guarded(AutoHTTPProtocol):  # type: ignore[valid-type,misc]
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            connections.enter(self)
            connections.wait(self, head_timeout)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                connections.wait_no_more(self)
            else:
                connections.wait(self, self.timeout_keep_alive)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.cycle.response_complete and not self.transport.is_closing():  # no other request came meanwhile
                connections.wait(self, self.timeout_keep_alive)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.leave(self)
            super().connection_lost(exc)

    found: Any = Guarded
    return found  # type: ignore[no-any-return]
