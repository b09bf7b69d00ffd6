"""Tests of the entry point of linker subprocesses."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import IO

from onym.pipeline import build_pipeline
from onym.serve.worker import reply


def start_worker(pipeline: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "onym.serve.worker"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    say(process, {"pipeline": str(pipeline)})
    return process


def say(process: subprocess.Popen[bytes], value: object) -> None:
    assert process.stdin
    process.stdin.write(json.dumps(value).encode() + b"\n")
    process.stdin.flush()


def read_reply(out: IO[bytes]) -> tuple[int, bytes]:
    status, size = out.readline().split()
    return int(status), out.read(int(size))


def test_answers_jobs_and_exits_when_stdin_closes(tiny_kb: Path, tmp_path: Path) -> None:
    pipeline = build_pipeline(tiny_kb, tmp_path / "pipeline")
    process = start_worker(tmp_path / "pipeline")
    assert process.stdin
    assert process.stdout
    ready = json.loads(process.stdout.readline())
    assert (ready["ready"], ready["kb"]) == (True, pipeline.kb.digest)
    say(process, {"jobs": [{"op": "link", "text": "fever"}, {"op": "concept", "id": "x"}]})
    status, body = read_reply(process.stdout)
    assert (status, json.loads(body)) == (200, pipeline.link("fever").to_dict())
    assert read_reply(process.stdout)[0] == 404
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()


def test_reports_pipeline_that_cannot_be_opened(tmp_path: Path) -> None:
    process = start_worker(tmp_path / "none")
    assert process.stdin
    assert process.stdout
    assert json.loads(process.stdout.readline())["error"]["code"] == "pipeline-missing"
    assert process.wait(60) == 3
    process.stdin.close()
    process.stdout.close()


class _Narrow(io.BytesIO):
    """A pipe that accepts a few bytes at a time."""

    def write(self, data: object) -> int:
        return super().write(memoryview(data)[:5])  # type: ignore[arg-type]


def test_reply_is_written_whole_to_slow_pipe() -> None:
    pipe = _Narrow()
    reply(pipe, 200, b"0123456789")
    assert pipe.getvalue() == b"200 10\n0123456789"
