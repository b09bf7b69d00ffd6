"""How a service ends."""

from __future__ import annotations

import asyncio
import os
import signal

from onym.serve.lifecycle import Lifecycle
from tests.serve.test_pool import until


def test_draining_is_said_first_and_stops_later() -> None:
    async def act() -> None:
        stopped = asyncio.Event()
        lifecycle = Lifecycle(0.05, stopped.set)
        lifecycle.drain()
        lifecycle.drain()
        assert lifecycle.is_draining
        assert not stopped.is_set()
        await asyncio.wait_for(stopped.wait(), 5)

    asyncio.run(act())


def test_signals() -> None:
    async def act() -> None:
        stopped, reloaded = asyncio.Event(), asyncio.Event()
        lifecycle = Lifecycle(60, stopped.set)
        with lifecycle.on_signals(reloaded.set):
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.wait_for(reloaded.wait(), 5)
            assert not lifecycle.is_draining
            os.kill(os.getpid(), signal.SIGTERM)
            await until(lambda: lifecycle.is_draining)
            assert not stopped.is_set()
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.wait_for(stopped.wait(), 5)

    before = signal.getsignal(signal.SIGINT)
    try:
        asyncio.run(act())
    finally:
        signal.signal(signal.SIGINT, before)
