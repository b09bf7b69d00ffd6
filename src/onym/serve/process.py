"""Linker subprocesses, as the HTTP process controls them: start, open a pipeline, send jobs, read replies, kill."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from onym.workers import json_line, require_no_error, start_in_loop, worker_command

WORKER = worker_command("onym.serve.worker")


class ProcessEndedError(Exception):
    """The process died, or broke the protocol."""


class BusyError(Exception):
    """The linker is alive, but accepts no more jobs at the moment."""


class Processes:
    """Linker processes of this machine, which share its CPUs."""

    def __init__(self, size: int = 1, command: Sequence[str] = WORKER) -> None:
        self.size, self._command = size, command

    async def start(self) -> LinkerProcess:
        """Start a process. Call its `open` before sending jobs."""
        return await LinkerProcess.start(self._command, self.size)

    async def close(self) -> None:
        """Do nothing: processes have no shared resources."""


class LinkerProcess:
    """A linker subprocess. It exits when its parent dies, because its standard input is closed then."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.release: dict[str, Any] = {}
        self.ended: asyncio.Future[int] = asyncio.create_task(process.wait())

    @classmethod
    async def start(cls, command: Sequence[str], workers: int) -> LinkerProcess:
        """Start one of `workers` processes. Call its `open` before sending jobs."""
        return cls(await start_in_loop(command, workers))

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def label(self) -> str:
        """Name for logs."""
        return f"linker process {self.pid}"

    async def open(self, pipeline: Path, opening: Mapping[str, Any]) -> None:
        """Open a pipeline in the process and set `release`. If that fails, raise the error that the process reports."""
        await self._send({"pipeline": str(pipeline), "opening": opening})
        line = await self._line()
        reply: dict[str, Any] = json.loads(line)
        require_no_error(reply)
        self.release = {name: value for name, value in reply.items() if name != "ready"}

    async def send(self, jobs: Sequence[dict[str, Any]]) -> None:
        """Send jobs, which are answered in order."""
        await self._send({"jobs": jobs})

    async def reply(self) -> tuple[int, bytes]:
        """Return the HTTP status and the JSON of the next job."""
        status, _, size = (await self._line()).partition(b" ")
        try:
            return int(status), await self._out.readexactly(int(size))
        except (ValueError, asyncio.IncompleteReadError) as e:
            raise ProcessEndedError from e

    async def end(self) -> int:
        """Kill the process and return its exit status."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)  # asyncio's own `kill` may reap the process and lose its exit status
        if self._process.stdin is not None:
            self._process.stdin.close()
        return await asyncio.shield(self.ended)

    @property
    def _out(self) -> asyncio.StreamReader:
        return self._process.stdout  # type: ignore[return-value]

    async def _send(self, value: dict[str, Any]) -> None:
        stdin: asyncio.StreamWriter = self._process.stdin  # type: ignore[assignment]
        stdin.write(json_line(value))
        try:
            await stdin.drain()
        except (BrokenPipeError, ConnectionResetError) as e:
            raise ProcessEndedError from e

    async def _line(self) -> bytes:
        try:
            return await self._out.readuntil(b"\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionResetError) as e:
            raise ProcessEndedError from e
