"""How often a shard may fail."""

from __future__ import annotations

from pathlib import Path

from onym.batch.engines.base import ATTEMPTS, Failure, ShardQueue
from onym.batch.ledger import status
from onym.store.storage import open_storage
from tests.batch.runs import planned


def test_three_failures_are_enough_and_one_that_cannot_be_mended(tiny_kb: Path, tmp_path: Path) -> None:
    plan = planned(tiny_kb, tmp_path)
    queue = ShardQueue.of(plan.shards[:2], open_storage(tmp_path / "out"))
    first, second = queue.waiting.popleft(), queue.waiting.popleft()
    for _ in range(ATTEMPTS - 1):
        queue.failed(first, Failure("internal-error", "a bug"))
        assert queue.waiting.popleft() == first
    queue.failed(first, Failure("internal-error", "a bug"))
    queue.failed(second, Failure("batch-input-changed", "changed"))
    assert not queue.waiting
    assert {number: each.code for number, each in status(tmp_path / "out").quarantined.items()} == {
        0: "internal-error",
        1: "batch-input-changed",
    }
    queue.succeeded(first)
    assert set(status(tmp_path / "out").quarantined) == {1}
