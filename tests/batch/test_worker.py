"""Tests of the worker process of `onym batch`, which links shards until its standard input is closed."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from onym.batch.worker import _reporter
from tests.batch.runs import plan_run


def run_worker(out: Path, *lines: object) -> tuple[list[dict[str, object]], int]:
    words = "".join(f"{json.dumps(line)}\n" for line in ({"out": str(out)}, *lines))
    process = subprocess.Popen(
        [sys.executable, "-m", "onym.batch.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(words)
    process.stdin.flush()
    replies: list[dict[str, object]] = []
    for line in process.stdout:
        replies += [reply for reply in [json.loads(line)] if "share" not in reply]  # skip progress replies
        if len(replies) > len(lines):
            break
    process.stdin.close()
    process.stdout.close()
    return replies, process.wait(60)


def test_links_shards_and_exits_when_stdin_closes(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path)
    (tmp_path / "notes" / "1.txt").write_text("changed")
    replies, status = run_worker(tmp_path / "out", {"shard": 1}, {"shard": 0})
    assert replies[:2] == [{"ready": True}, {"done": 1, "documents": 7}]
    assert (replies[2]["failed"], replies[2]["code"]) == (0, "batch-input-changed")
    assert status == 0


def test_reports_progress_at_most_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, replies = [0.0], io.BytesIO()
    monkeypatch.setattr("onym.batch.worker.time.monotonic", lambda: clock[0])
    report = _reporter(replies)
    for number in range(1, 26):
        clock[0] = number / 10
        report(number, number / 100)
    assert [json.loads(line) for line in replies.getvalue().splitlines()] == [
        {"documents": 10, "share": 0.1}, {"documents": 20, "share": 0.2},
    ]  # fmt: skip


def test_reports_error_that_affects_all_shards(tmp_path: Path) -> None:
    ((error,), status) = run_worker(tmp_path / "none")
    assert error["kind"] == "InputError"
    assert status in (0, 3)  # the worker exits by itself, or because its standard input is closed
