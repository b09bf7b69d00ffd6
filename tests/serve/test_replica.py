"""What runs on a cluster, without one."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest

from onym.pipeline import build_pipeline
from onym.serve.replica import Replica, release_of


class _EndedError(Exception):
    pass


def test_it_answers_as_the_pipeline_does(tiny_kb: Path, tmp_path: Path) -> None:
    pipeline = build_pipeline(tiny_kb, tmp_path / "pipeline")
    release = release_of(str(tmp_path / "pipeline"), None)
    assert release["kb"] == pipeline.kb.digest
    replica = Replica(str(tmp_path / "pipeline"), None, release["release"])
    first, second = asyncio.run(
        replica.of(json.dumps([{"op": "link", "text": "fever"}, {"op": "concept", "id": "x"}]).encode())
    )
    assert (first[0], json.loads(first[1])) == (200, pipeline.link("fever").to_dict())
    assert second[0] == 404


def test_another_release_is_not_served(tiny_kb: Path, tmp_path: Path) -> None:
    build_pipeline(tiny_kb, tmp_path / "pipeline")
    with pytest.raises(RuntimeError, match="another release"):
        Replica(str(tmp_path / "pipeline"), None, "0123456789abcdef")


def test_what_does_not_open_has_a_code(tmp_path: Path) -> None:
    reply = release_of(str(tmp_path / "none"), None)
    assert (reply["error"]["code"], reply["kind"]) == ("pipeline-missing", "InputError")


def test_it_ends_when_the_caller_gives_up(tiny_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(status: int) -> None:
        raise _EndedError(status)

    build_pipeline(tiny_kb, tmp_path / "pipeline")
    replica = Replica(str(tmp_path / "pipeline"), None, release_of(str(tmp_path / "pipeline"), None)["release"])
    begun, is_over = threading.Event(), threading.Event()

    def hang(jobs: object) -> list[tuple[int, bytes]]:
        begun.set()
        is_over.wait(60)
        return []

    monkeypatch.setattr("onym.serve.replica.os._exit", end)
    monkeypatch.setattr(replica._answers, "of", hang)

    async def act() -> None:
        asking = asyncio.ensure_future(replica.of(b"[]"))
        await asyncio.to_thread(begun.wait, 60)
        asking.cancel()
        try:
            with pytest.raises(_EndedError, match="4"):
                await asking
        finally:
            is_over.set()

    asyncio.run(act())
