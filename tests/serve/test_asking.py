"""Waiting for an answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from onym.errors import LimitError
from onym.serve.asking import ask
from onym.serve.bodies import ClientGoneError
from onym.serve.pool import Pool
from tests.serve.stub import folder_of, with_pool
from tests.serve.test_bodies import GONE, coming, part


def test_an_answer_comes(tmp_path: Path) -> None:
    async def act(pool: Pool) -> None:
        reply = await ask(pool, {"op": "link", "text": "a"}, 1, coming())
        assert (reply.status, json.loads(reply.body)["text"], reply.release) == (200, "a", "r1")

    with_pool(folder_of(tmp_path), act)


def test_what_nobody_waits_for_is_not_linked(tmp_path: Path) -> None:
    async def act(pool: Pool) -> None:
        first = pool.put({"op": "link", "text": "sleep 0.3"}, 1)
        await asyncio.sleep(0.05)  # it is under way
        with pytest.raises(ClientGoneError):
            await ask(pool, {"op": "link", "text": "die"}, 1, coming(part(b""), GONE))
        assert len(pool.queue) == 0
        assert (await first.reply).status == 200
        assert (await pool.put({"op": "link", "text": "b"}, 1).reply).status == 200  # else the process were dead

    with_pool(folder_of(tmp_path), act)


def test_the_time_limit(tmp_path: Path) -> None:
    async def act(pool: Pool) -> None:
        pool.put({"op": "link", "text": "sleep 0.5"}, 1)
        await asyncio.sleep(0.1)
        with pytest.raises(LimitError, match="serve-timeout"):
            await ask(pool, {"op": "link", "text": "a"}, 1, coming())
        assert len(pool.queue) == 0

    with_pool(folder_of(tmp_path), act, timeout=0.25)
