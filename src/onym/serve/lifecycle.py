"""How a service ends: it says so first, waits until it is asked no more, then stops listening and finishes what it has."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_log = logging.getLogger("onym.serve")


class Lifecycle:
    """Whether a service is about to end. `stop` is called when it should no longer listen."""

    def __init__(self, drain_delay: float, stop: Callable[[], None] = lambda: None) -> None:
        self._drain_delay, self.stop = drain_delay, stop
        self.is_draining = False
        self._draining: asyncio.Task[None] | None = None

    def drain(self) -> None:
        """Be not ready from now on; stop after the delay, in which balancers notice it. Answers end their connections."""
        if self._draining is None:
            _log.info("draining: not ready any more, listening for %g s", self._drain_delay)
            self.is_draining = True
            self._draining = asyncio.create_task(self._stop_later())

    def stop_now(self) -> None:
        """Stop without a delay; what was begun is finished."""
        self.is_draining = True
        self.stop()

    @contextmanager
    def on_signals(self, reload: Callable[[], None]) -> Iterator[None]:
        """Drain on SIGTERM, stop on SIGINT, reload on SIGHUP, while the block runs."""
        loop = asyncio.get_running_loop()
        acts = {signal.SIGTERM: self.drain, signal.SIGINT: self.stop_now, signal.SIGHUP: reload}
        for number, act in acts.items():
            loop.add_signal_handler(number, act)
        try:
            yield
        finally:
            for number in acts:
                loop.remove_signal_handler(number)
            if self._draining is not None:
                self._draining.cancel()

    async def _stop_later(self) -> None:
        await asyncio.sleep(self._drain_delay)
        self.stop()
