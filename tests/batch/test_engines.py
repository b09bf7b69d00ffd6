"""Tests of the shard queue and of the local engine, including killed workers and killed drivers."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onym.batch.engines import ATTEMPTS, DIED, Advance, Failure, LocalEngine, ShardQueue
from onym.batch.ledger import status
from onym.batch.run import run_batch
from onym.errors import ConfigError, InternalError
from onym.store.storage import open_storage
from tests.batch.runs import InlineEngine, bytes_of, plan_run


def test_quarantines_after_three_or_one_permanent_failure(tiny_kb: Path, tmp_path: Path) -> None:
    plan = plan_run(tiny_kb, tmp_path)
    queue = ShardQueue.of(plan.shards[:2], open_storage(tmp_path / "out"))
    first, second = queue.waiting.popleft(), queue.waiting.popleft()
    for _ in range(ATTEMPTS - 1):
        queue.note_failure(first, Failure("internal-error", "a bug"))
        assert queue.waiting.popleft() == first
    queue.note_failure(first, Failure("internal-error", "a bug"))
    queue.note_failure(second, Failure("batch-input-changed", "changed"))
    assert not queue.waiting
    assert {number: each.code for number, each in status(tmp_path / "out").quarantined.items()} == {
        0: "internal-error",
        1: "batch-input-changed",
    }
    queue.note_success(first)
    assert set(status(tmp_path / "out").quarantined) == {1}


def test_progress_counts_finished_and_running_shards(tiny_kb: Path, tmp_path: Path) -> None:
    plan = plan_run(tiny_kb, tmp_path)
    first, second, third = plan.shards[1:4]
    queue = ShardQueue.of((first, second, third), open_storage(tmp_path / "out"))
    seen: list[Advance] = []
    queue.on_change = seen.append
    size = first.bytes + second.bytes + third.bytes
    queue.note_success(first, 4)
    queue.advance(second, 2, 0.5)
    assert seen[-1] == Advance(6, (first.bytes + second.bytes / 2) / size, 1, 3)
    queue.note_failure(second, Failure("internal-error", "a bug"))
    queue.advance(third, 1, 0.5)
    assert seen[-1] == Advance(5, (first.bytes + third.bytes / 2) / size, 1, 3)


_POISON = """
import os, signal, sys
import onym.batch.shard as shard
right = shard.write_shard
def wrong(which, *arguments, **options):
    if which.number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return right(which, *arguments, **options)
shard.write_shard = wrong
from onym.batch.worker import main
sys.exit(main())
"""
_SLOW = """
import sys, time
import onym.batch.shard as shard
right = shard.write_shard
def wrong(which, *arguments, **options):
    found = right(which, *arguments, **options)
    time.sleep(60)
    return found
shard.write_shard = wrong
from onym.batch.worker import main
sys.exit(main())
"""
_DRIVER = """
import sys
from onym.batch.engines import LocalEngine
from onym.batch.run import run_batch
run_batch(sys.argv[1], engine=LocalEngine(2, [sys.executable, "-c", sys.argv[2]]))
"""


def test_two_workers_write_same_bytes_as_one_process(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path)
    out = tmp_path / "out"
    assert run_batch(out, workers=2).is_done
    by_workers = bytes_of(out)
    for path in (out / "shards").iterdir():
        path.unlink()
    run_batch(out, engine=InlineEngine())
    assert bytes_of(out) == by_workers


@pytest.mark.slow
@pytest.mark.ci
def test_shard_that_kills_its_worker_is_quarantined(tiny_kb: Path, tmp_path: Path) -> None:
    plan = plan_run(tiny_kb, tmp_path)
    ledger = run_batch(tmp_path / "out", engine=LocalEngine(1, [sys.executable, "-c", _POISON]))
    assert {number: each.code for number, each in ledger.quarantined.items()} == {1: DIED}
    assert len(ledger.receipts) == len(plan.shards) - 1
    assert not list((tmp_path / "out" / "shards").glob(".*"))  # no temp files of dead workers are left
    assert run_batch(tmp_path / "out", engine=InlineEngine()).is_done


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_exit_with_their_driver(tiny_kb: Path, tmp_path: Path, number: signal.Signals) -> None:
    plan_run(tiny_kb, tmp_path)
    driver = subprocess.Popen([sys.executable, "-c", _DRIVER, str(tmp_path / "out"), _SLOW])
    workers = _until(lambda: [pid for pid in _children(driver.pid) if _is_asleep_in(tmp_path / "out")])
    assert workers
    driver.send_signal(number)
    driver.wait(30)
    assert _until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    assert status(tmp_path / "out").receipts == {}
    assert run_batch(tmp_path / "out", engine=InlineEngine()).is_done
    assert not [path for path in (tmp_path / "out" / "shards").iterdir() if path.name.startswith(".")]


def test_raises_errors_that_affect_all_shards(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path)
    (tmp_path / "out" / "shards").write_text("a file where the folder should be")
    with pytest.raises(ConfigError) as caught:
        run_batch(tmp_path / "out", workers=1)
    assert caught.value.code == "output-failed"


def test_raises_if_workers_die_at_startup(tiny_kb: Path, tmp_path: Path) -> None:
    plan_run(tiny_kb, tmp_path)
    with pytest.raises(InternalError) as caught:
        run_batch(tmp_path / "out", engine=LocalEngine(2, [sys.executable, "-c", "raise SystemExit(3)"]))
    assert caught.value.code == DIED == "batch-worker-died"
    assert "status 3" in caught.value.what


def _children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _is_asleep_in(out: Path) -> bool:
    """Return whether an output is being written: there is a hidden temp file."""
    return any(path.name.startswith(".") for path in (out / "shards").glob(".*")) if (out / "shards").exists() else False


def _until(act: Callable[[], Any], seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := act():
            return found
        time.sleep(0.05)
    return None
