"""How a new release takes over."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from onym.errors import InputError, InternalError
from onym.serve.pipelines import ServedPipeline
from onym.serve.pool import Pool
from tests.serve.stub import Ignored, folder_of, settings_of, stubs
from tests.serve.test_pool import until


def with_pipeline(folder: Path, act: Callable[[ServedPipeline], Awaitable[None]]) -> None:
    async def run() -> None:
        pipeline = ServedPipeline("default", folder, lambda f, c: Pool(f, settings_of(f), Ignored(), stubs(), c))
        try:
            await act(pipeline)
        finally:
            await pipeline.close()

    asyncio.run(run())


def test_it_is_not_ready_before_it_is_open(tmp_path: Path) -> None:
    async def act(pipeline: ServedPipeline) -> None:
        assert not pipeline.is_ready
        with pytest.raises(InternalError, match="serve-not-ready"):
            pipeline.current  # noqa: B018
        await pipeline.open()
        assert pipeline.is_ready

    with_pipeline(folder_of(tmp_path), act)


def test_what_was_begun_is_finished_by_the_old_release(tmp_path: Path) -> None:
    async def act(pipeline: ServedPipeline) -> None:
        await pipeline.open()
        folder_of(tmp_path, "r2")
        with pipeline.current.use() as old:
            first = old.put({"op": "link", "text": "sleep 0.2"}, 1)
            assert await pipeline.reload()
            assert (await pipeline.current.put({"op": "link", "text": "a"}, 1).reply).release == "r2"
            assert (await first.reply).release == "r1"
            assert (await old.put({"op": "link", "text": "b"}, 1).reply).release == "r1"
            assert old.pids
        await until(lambda: not old.pids)

    with_pipeline(folder_of(tmp_path), act)


@pytest.mark.parametrize("is_gone", [True, False])
def test_what_does_not_open_changes_nothing(tmp_path: Path, is_gone: bool) -> None:
    async def act(pipeline: ServedPipeline) -> None:
        await pipeline.open()
        if is_gone:
            (tmp_path / "release").unlink()
        else:
            folder_of(tmp_path, "dies")
        assert not await pipeline.reload()
        assert (await pipeline.current.put({"op": "link", "text": "a"}, 1).reply).release == "r1"

    with_pipeline(folder_of(tmp_path), act)


def test_at_first_it_is_an_error(tmp_path: Path) -> None:
    async def act(pipeline: ServedPipeline) -> None:
        with pytest.raises(InputError, match="pipeline-missing"):
            await pipeline.open()

    with_pipeline(tmp_path / "none", act)


def test_a_dead_process_over_a_changed_folder_makes_a_new_pool(tmp_path: Path) -> None:
    async def act(pipeline: ServedPipeline) -> None:
        await pipeline.open()
        folder_of(tmp_path, "r2")
        os.kill(pipeline.current.pids[0], signal.SIGKILL)
        await until(lambda: pipeline.current.release["release"] == "r2")
        assert (await pipeline.current.put({"op": "link", "text": "a"}, 1).reply).release == "r2"

    with_pipeline(folder_of(tmp_path), act)
