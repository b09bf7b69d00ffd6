"""Tests of starting workers, and of exchanging messages with them."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys

import pytest

from onym.errors import IntegrityError, InternalError
from onym.workers import Worker, error_reply, json_line, require_no_error, say, start_in_loop, worker_environment


def test_json_line_encodes_one_line() -> None:
    replies = io.BytesIO()
    say(replies, {"text": "two\nlines"})
    assert replies.getvalue() == b'{"text": "two\\nlines"}\n'


def test_error_round_trip() -> None:
    error = IntegrityError("kb-corrupt", "it is torn", where="kb", fix="build it again")
    with pytest.raises(IntegrityError) as caught:
        require_no_error(error_reply(error))
    assert caught.value.as_dict() == error.as_dict()


def test_unknown_error_kind_becomes_internal_error() -> None:
    reply = error_reply(IntegrityError("kb-corrupt", "it is torn")) | {"kind": "Other"}
    with pytest.raises(InternalError, match="kb-corrupt"):
        require_no_error(reply)


def test_reply_without_error_raises_nothing() -> None:
    require_no_error({"ready": True})


_ECHO = """
import os, sys
from onym.workers import iter_commands, leave, own_stdout, say
replies = own_stdout()
print("noise")  # goes to standard error
for command in iter_commands(sys.stdin.buffer):
    if "leave" in command:
        leave(command["leave"])
    say(replies, {"heard": command, "session": os.getsid(0) == os.getpid()})
"""
ECHO = (sys.executable, "-c", _ECHO)


def read_messages(worker: Worker, count: int) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    while len(found) < count:
        replies = worker.read_replies()
        assert replies is not None
        found += replies
    return found


def test_exchanges_messages_with_a_worker() -> None:
    worker = Worker(ECHO, 1)
    texts = ["fever", "two\nlines", "a" * 200_000]
    for text in texts:
        worker.tell({"text": text})
    replies = read_messages(worker, len(texts))
    assert [reply["heard"] for reply in replies] == [{"text": text} for text in texts]
    assert all(reply["session"] for reply in replies)
    assert worker.end() == -signal.SIGKILL


def test_dead_worker_is_detected_by_reading() -> None:
    worker = Worker(ECHO, 1)
    worker.tell({"leave": 7})
    assert worker.read_replies() is None
    for _ in range(3):
        worker.tell({"text": "a" * 100_000})  # the dead worker does not read this message
    assert worker.end() in (7, -signal.SIGKILL)


def test_worker_in_an_event_loop_exits_when_stdin_closes() -> None:
    async def act() -> None:
        process = await start_in_loop(ECHO, 1)
        assert process.stdin
        assert process.stdout
        process.stdin.write(json_line({"text": "fever"}))
        assert b'{"text": "fever"}' in await process.stdout.readline()
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), 30) == 0

    asyncio.run(act())


def test_workers_share_the_cpus_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("POLARS_MAX_THREADS", "3")
    assert [worker_environment(workers)["OMP_NUM_THREADS"] for workers in (1, 3, 16)] == ["8", "2", "1"]
    assert worker_environment(1)["POLARS_MAX_THREADS"] == "3"
