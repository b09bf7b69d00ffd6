"""A worker process: what it says, and that it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.batch.runs import planned


def said(out: Path, *lines: object) -> tuple[list[dict[str, object]], int]:
    words = "".join(f"{json.dumps(line)}\n" for line in ({"out": str(out)}, *lines))
    process = subprocess.Popen(
        [sys.executable, "-m", "onym.batch.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(words)
    process.stdin.flush()
    replies = []
    for line in process.stdout:
        replies.append(json.loads(line))
        if len(replies) > len(lines):
            break
    process.stdin.close()
    process.stdout.close()
    return replies, process.wait(60)


def test_shards_are_linked_and_the_end_is_heard(tiny_kb: Path, tmp_path: Path) -> None:
    planned(tiny_kb, tmp_path)
    (tmp_path / "notes" / "1.txt").write_text("changed")
    replies, status = said(tmp_path / "out", {"shard": 1}, {"shard": 0})
    assert replies[:2] == [{"ready": True}, {"done": 1}]
    assert (replies[2]["failed"], replies[2]["code"]) == (0, "batch-input-changed")
    assert status == 0


def test_an_error_that_concerns_all_is_reported(tmp_path: Path) -> None:
    ((error,), status) = said(tmp_path / "none")
    assert error["kind"] == "InputError"
    assert status in (0, 3)  # it ends by itself, or since its standard input ends
