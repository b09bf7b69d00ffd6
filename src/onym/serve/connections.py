"""Connections that do not wait for ever: uvicorn has no limit of time for the head of a request."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


def protocol_with(head_timeout: float) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol, with connections that end where the head of a request does not arrive in time.

    The first head has `head_timeout` seconds. A later one has as long as an idle connection is kept: after a refusal, what is
    left of a body that nobody reads looks like the beginning of a head.
    """

    class Guarded(AutoHTTPProtocol):  # type: ignore[valid-type,misc]
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            self._timer = self.loop.call_later(head_timeout, transport.close)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._forget_timer()
            elif self._timer is None:
                self._timer = self.loop.call_later(self.timeout_keep_alive, self.transport.close)

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget_timer()
            super().connection_lost(exc)

        def _forget_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    found: Any = Guarded
    return found  # type: ignore[no-any-return]
