"""Looking at a run that goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.batch import ledger as ledgers
from onym.batch.ledger import Quarantined, quarantine
from onym.batch.receipt import Receipt, read_receipt
from onym.batch.run import run_batch
from onym.batch.watching import watch
from onym.store.storage import Storage, open_storage
from tests.batch.runs import InlineEngine, planned


def test_shards_appear_one_after_the_other(tiny_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, out = planned(tiny_kb, tmp_path), tmp_path / "out"
    read: list[str] = []

    def noted(storage: Storage, name: str) -> Receipt | None:
        read.append(name)
        return read_receipt(storage, name)

    monkeypatch.setattr(ledgers, "read_receipt", noted)

    def link_one(_seconds: float) -> None:
        count = len(plan.shards)
        done = sum(1 for _ in (out / "shards").glob("*.parquet")) if (out / "shards").exists() else 0
        run_batch(out, engine=InlineEngine(), part=f"{done + 1}/{count}")
        read.clear()

    looks = list(watch(out, pause=link_one))
    assert [len(look.ledger.receipts) for look in looks] == list(range(len(plan.shards) + 1))
    assert looks[0].documents_per_s == 0 < looks[-1].documents_per_s
    assert read == [plan.shards[-1].name]  # those before were not read again


def test_what_is_quarantined_is_not_waited_for(tiny_kb: Path, tmp_path: Path) -> None:
    plan = planned(tiny_kb, tmp_path)
    storage = open_storage(tmp_path / "out")

    def give_up(_seconds: float) -> None:
        for shard in plan.shards:
            quarantine(storage, Quarantined(shard.number, "batch-worker-died", "gone"))

    looks = list(watch(tmp_path / "out", pause=give_up))
    assert len(looks) == 2
    assert f"{len(plan.shards)} shards quarantined" in looks[-1].description
