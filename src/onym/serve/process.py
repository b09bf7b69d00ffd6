"""A linker process, as the HTTP process has it: started, ready, sent jobs, heard, ended."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from onym.workers import json_line, require_no_error, start_in_loop, worker_command

WORKER = worker_command("onym.serve.worker")


class ProcessEndedError(Exception):
    """The process ended, or said what it should not say."""


class BusyError(Exception):
    """It takes no more jobs now; it did not end."""


class Processes:
    """The linkers of this machine: as many processes as are wanted, which share its CPUs."""

    def __init__(self, size: int = 1, command: Sequence[str] = WORKER) -> None:
        self.size, self._command = size, command

    async def start(self) -> LinkerProcess:
        """Start a process, which is not ready yet."""
        return await LinkerProcess.start(self._command, self.size)

    async def close(self) -> None:
        """Do nothing: processes share nothing."""


class LinkerProcess:
    """One process with a pipe of its own. It ends with the process that started it, since its standard input ends then."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.release: dict[str, Any] = {}
        self.ended: asyncio.Future[int] = asyncio.create_task(process.wait())

    @classmethod
    async def start(cls, command: Sequence[str], workers: int) -> LinkerProcess:
        """Start one of some processes, which is not ready yet."""
        return cls(await start_in_loop(command, workers))

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def label(self) -> str:
        """What it is, for logs."""
        return f"linker process {self.pid}"

    async def open(self, pipeline: Path, precision: float | None) -> None:
        """Let it open a pipeline; what cannot be opened is an error with a code."""
        await self._send({"pipeline": str(pipeline), "precision": precision})
        line = await self._line()
        reply: dict[str, Any] = json.loads(line)
        require_no_error(reply)
        self.release = {name: value for name, value in reply.items() if name != "ready"}

    async def send(self, jobs: Sequence[dict[str, Any]]) -> None:
        """Send jobs, which are answered in their order."""
        await self._send({"jobs": jobs})

    async def reply(self) -> tuple[int, bytes]:
        """Return the next answer: its status, and JSON as it came."""
        status, _, size = (await self._line()).partition(b" ")
        try:
            return int(status), await self._out.readexactly(int(size))
        except (ValueError, asyncio.IncompleteReadError) as e:
            raise ProcessEndedError from e

    async def end(self) -> int:
        """End it at once, and return its status."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)  # asyncio's own `kill` may reap a dead process, and lose its status
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
