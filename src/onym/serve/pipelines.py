"""The pipelines of a service by name, and how a new release of one takes over from the old one.

A reload opens the folder again in new processes. When all of them are ready, requests that come go to them; those that came
before are finished by the old ones, also streams: one request is answered by one release.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from onym.errors import OnymError
from onym.serve.pool import Pool
from onym.serve.refusals import not_ready

_log = logging.getLogger("onym.serve")
MakePool = Callable[[Path, Callable[[], None]], Pool]


class ServedPipeline:
    """A folder, and the pool of its newest release."""

    def __init__(self, name: str, folder: Path, make_pool: MakePool) -> None:
        self.name, self.folder = name, folder
        self._make_pool = make_pool
        self._current: Pool | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._lock = asyncio.Lock()

    @property
    def current(self) -> Pool:
        """The pool that answers what comes now."""
        if self._current is None:
            raise not_ready()
        return self._current

    @property
    def is_ready(self) -> bool:
        """True where at least one process is ready."""
        return self._current is not None and bool(self._current.pids)

    async def open(self) -> None:
        """Open the folder, at first or again; where this fails, what was there stays."""
        async with self._lock:
            pool = self._make_pool(self.folder, self._schedule_reload)
            await pool.start()
            before, self._current = self._current, pool
        _log.info("pipeline %s is ready: release %s", self.name, pool.release["release"])
        if before is not None:
            self._finish(before)

    async def reload(self) -> bool:
        """Open the folder again and tell whether it worked; the reason is logged."""
        try:
            await self.open()
        except OnymError as e:
            _log.error("pipeline %s was not reloaded, the old release stays: [%s] %s", self.name, e.code, e.what)
            return False
        return True

    async def close(self) -> None:
        """End all processes, when what they have is answered."""
        pools = [] if self._current is None else [self._current.close()]
        await asyncio.gather(*pools, *self._closing)

    def _finish(self, pool: Pool) -> None:
        task = asyncio.create_task(pool.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _schedule_reload(self) -> None:
        if not self._lock.locked():
            task = asyncio.create_task(self._reload_once())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _reload_once(self) -> None:
        await self.reload()
