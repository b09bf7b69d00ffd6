"""Tests of linker subprocesses: sending jobs, reading replies, and detecting dead processes."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from onym.errors import InputError
from onym.serve.process import LinkerProcess, ProcessEndedError
from tests.serve.stub import STUB, folder_of


async def start_process(folder: Path) -> LinkerProcess:
    process = await LinkerProcess.start(STUB, 1)
    await process.open(folder, {})
    return process


async def send_much(process: LinkerProcess) -> None:
    for _ in range(100):
        await process.send([{"op": "link", "text": "a" * 100_000}])


def test_sends_jobs_and_reads_replies(tmp_path: Path) -> None:
    async def act() -> None:
        process = await start_process(folder_of(tmp_path))
        assert process.release == {"release": "r1", "kb": "kb-r1"}
        await process.send([{"op": "link", "text": "a"}, {"op": "link", "text": "x" * 300_000}])
        assert b'"text": "a"' in (await process.reply())[1]
        assert len((await process.reply())[1]) > 600_000
        assert await process.end() == -signal.SIGKILL

    asyncio.run(act())


@pytest.mark.parametrize("text", ["die", "nonsense"])
def test_death_and_protocol_errors_raise(text: str, tmp_path: Path) -> None:
    async def act() -> None:
        process = await start_process(folder_of(tmp_path))
        await process.send([{"op": "link", "text": text}])
        with pytest.raises(ProcessEndedError):
            await process.reply()
        await process.end()

    asyncio.run(act())


def test_sending_to_dead_process_raises(tmp_path: Path) -> None:
    async def act() -> None:
        process = await start_process(folder_of(tmp_path))
        os.kill(process.pid, signal.SIGKILL)
        await process.ended
        with pytest.raises(ProcessEndedError):
            await send_much(process)
        await process.end()

    asyncio.run(act())


def test_open_error_keeps_its_code(tmp_path: Path) -> None:
    async def act() -> None:
        process = await LinkerProcess.start(STUB, 1)
        with pytest.raises(InputError, match="pipeline-missing"):
            await process.open(tmp_path / "none", {})
        assert await process.end() in (3, -signal.SIGKILL)

    asyncio.run(act())
