"""Tests of pools of linkers: replacing dead linkers, reloading, and waiting for replies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from onym.errors import InputError, IntegrityError, InternalError, LimitError
from onym.serve.bodies import ClientGoneError
from onym.serve.pool import JobLinker, LinkerPool, ServedPipeline, ask
from tests.serve.stub import Ignored, folder_of, settings_of, stubs, with_pool
from tests.serve.test_bodies import GONE, coming, part


async def until(is_so: object) -> None:
    """Wait until a function returns a true value."""
    async with asyncio.timeout(20):
        while not is_so():  # type: ignore[operator]
            await asyncio.sleep(0.01)


def test_queued_jobs_are_batched(tmp_path: Path) -> None:
    watch = Ignored()

    async def act(pool: LinkerPool) -> list[dict[str, object]]:
        jobs = [pool.put({"op": "link", "text": str(number)}, 10) for number in range(9)]
        return [json.loads((await job.reply).body) for job in jobs]

    found = with_pool(folder_of(tmp_path), act, watch)
    assert [each["text"] for each in found] == [str(number) for number in range(9)]
    assert sum(watch.batches) == 9
    assert max(watch.batches) > 1


def test_replaces_dead_process_and_fails_only_its_batch(tmp_path: Path) -> None:
    watch = Ignored()

    async def act(pool: LinkerPool) -> None:
        (before,) = pool.pids
        wrong, with_it = pool.put({"op": "link", "text": "die"}, 1), pool.put({"op": "link", "text": "a"}, 1)
        for job in (wrong, with_it):
            with pytest.raises(InternalError, match="serve-worker-died"):
                await job.reply
        reply = await pool.put({"op": "link", "text": "b"}, 1).reply
        assert json.loads(reply.body)["text"] == "b"
        assert pool.pids != [before]

    with_pool(folder_of(tmp_path), act, watch)
    assert watch.deaths == 1


def test_replaces_dead_idle_process(tmp_path: Path) -> None:
    async def act(pool: LinkerPool) -> None:
        (before,) = pool.pids
        os.kill(before, signal.SIGKILL)
        await until(lambda: pool.pids not in ([before], []))
        assert (await pool.put({"op": "link", "text": "a"}, 1).reply).status == 200

    with_pool(folder_of(tmp_path), act)


def test_kills_hanging_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.serve.pool._GRACE_S", 0.1)
    watch = Ignored()

    async def act(pool: LinkerPool) -> None:
        with pytest.raises(LimitError, match="serve-timeout"):
            await pool.put({"op": "link", "text": "sleep 60"}, 1).reply
        assert (await pool.put({"op": "link", "text": "a"}, 1).reply).status == 200

    with_pool(folder_of(tmp_path), act, watch, timeout=0.5)
    assert watch.deaths == 1


def test_does_not_mix_releases(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)

    async def act() -> None:
        changed = asyncio.Event()
        pool = LinkerPool(folder, settings_of(folder), Ignored(), stubs(2), changed.set)
        await pool.start()
        folder_of(tmp_path, "r2")
        os.kill(pool.pids[0], signal.SIGKILL)
        await asyncio.wait_for(changed.wait(), 20)
        replies = [await pool.put({"op": "link", "text": "a"}, 1).reply for _ in range(4)]
        assert {json.loads(reply.body)["release"] for reply in replies} == {reply.release for reply in replies} == {"r1"}
        await pool.close()

    asyncio.run(act())


@pytest.mark.parametrize("release", [None, "dies"])
def test_start_raises_the_reason(release: str | None, tmp_path: Path) -> None:
    folder = tmp_path / "none" if release is None else folder_of(tmp_path, release)

    async def act() -> None:
        await LinkerPool(folder, settings_of(folder), Ignored(), stubs(2)).start()

    with pytest.raises((InputError, InternalError), match="pipeline-missing|serve-worker-died"):
        asyncio.run(act())


def test_rejects_processes_of_different_releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(tmp_path)
    right = LinkerPool._start_linker

    async def changing(pool: LinkerPool) -> JobLinker:
        process = await right(pool)
        process.release = {"release": f"r{process.pid}", "kb": ""}
        return process

    monkeypatch.setattr(LinkerPool, "_start_linker", changing)

    async def act() -> None:
        await LinkerPool(folder, settings_of(folder), Ignored(), stubs(2)).start()

    with pytest.raises(IntegrityError, match="serve-release"):
        asyncio.run(act())


def test_close_waits_for_users(tmp_path: Path) -> None:
    async def act(pool: LinkerPool) -> None:
        with pool.use():
            closing = asyncio.create_task(pool.close())
            assert (await pool.put({"op": "link", "text": "sleep 0.1"}, 1).reply).status == 200
            assert not closing.done()
        await closing
        assert pool.pids == []

    with_pool(folder_of(tmp_path), act)


def test_estimates_wait_from_queue(tmp_path: Path) -> None:
    async def act(pool: LinkerPool) -> None:
        assert pool.seconds_until_start == 0.0
        for _ in range(5):
            await pool.put({"op": "link", "text": "sleep 0.2"}, 100).reply
        jobs = [pool.put({"op": "link", "text": "sleep 0.2"}, 100) for _ in range(10)]
        assert 1.0 < pool.seconds_until_start < 20.0
        for job in jobs[1:]:
            pool.queue.drop(job)
        await jobs[0].reply

    with_pool(folder_of(tmp_path), act)


def with_pipeline(folder: Path, act: Callable[[ServedPipeline], Awaitable[None]]) -> None:
    async def run() -> None:
        pipeline = ServedPipeline("default", folder, lambda f, c: LinkerPool(f, settings_of(f), Ignored(), stubs(), c))
        try:
            await act(pipeline)
        finally:
            await pipeline.close()

    asyncio.run(run())


def test_not_ready_before_open(tmp_path: Path) -> None:
    async def act(pipeline: ServedPipeline) -> None:
        assert not pipeline.is_ready
        with pytest.raises(InternalError, match="serve-not-ready"):
            pipeline.current  # noqa: B018
        await pipeline.open()
        assert pipeline.is_ready

    with_pipeline(folder_of(tmp_path), act)


def test_old_release_finishes_its_requests(tmp_path: Path) -> None:
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
def test_failed_reload_keeps_old_release(tmp_path: Path, is_gone: bool) -> None:
    async def act(pipeline: ServedPipeline) -> None:
        await pipeline.open()
        if is_gone:
            (tmp_path / "release").unlink()
        else:
            folder_of(tmp_path, "dies")
        assert not await pipeline.reload()
        assert (await pipeline.current.put({"op": "link", "text": "a"}, 1).reply).release == "r1"

    with_pipeline(folder_of(tmp_path), act)


def test_open_raises_if_pipeline_is_missing(tmp_path: Path) -> None:
    async def act(pipeline: ServedPipeline) -> None:
        with pytest.raises(InputError, match="pipeline-missing"):
            await pipeline.open()

    with_pipeline(tmp_path / "none", act)


def test_dead_process_with_changed_folder_triggers_reload(tmp_path: Path) -> None:
    async def act(pipeline: ServedPipeline) -> None:
        await pipeline.open()
        folder_of(tmp_path, "r2")
        os.kill(pipeline.current.pids[0], signal.SIGKILL)
        await until(lambda: pipeline.current.release["release"] == "r2")
        assert (await pipeline.current.put({"op": "link", "text": "a"}, 1).reply).release == "r2"

    with_pipeline(folder_of(tmp_path), act)


def test_ask_returns_reply(tmp_path: Path) -> None:
    async def act(pool: LinkerPool) -> None:
        reply = await ask(pool, {"op": "link", "text": "a"}, 1, coming())
        assert (reply.status, json.loads(reply.body)["text"], reply.release) == (200, "a", "r1")

    with_pool(folder_of(tmp_path), act)


def test_drops_job_of_disconnected_client(tmp_path: Path) -> None:
    async def act(pool: LinkerPool) -> None:
        first = pool.put({"op": "link", "text": "sleep 0.3"}, 1)
        await asyncio.sleep(0.05)  # wait until the first job is being linked
        with pytest.raises(ClientGoneError):
            await ask(pool, {"op": "link", "text": "die"}, 1, coming(part(b""), GONE))
        assert len(pool.queue) == 0
        assert (await first.reply).status == 200
        # The process is alive, because "die" was never sent to it.
        assert (await pool.put({"op": "link", "text": "b"}, 1).reply).status == 200

    with_pool(folder_of(tmp_path), act)


def test_ask_times_out(tmp_path: Path) -> None:
    async def act(pool: LinkerPool) -> None:
        pool.put({"op": "link", "text": "sleep 0.5"}, 1)
        await asyncio.sleep(0.1)
        with pytest.raises(LimitError, match="serve-timeout"):
            await ask(pool, {"op": "link", "text": "a"}, 1, coming())
        assert len(pool.queue) == 0

    with_pool(folder_of(tmp_path), act, timeout=0.25)
