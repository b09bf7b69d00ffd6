"""Tests of the state of a run: finished shards, waiting for new ones (`watch`), and checks of the output (`verify`)."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from onym.batch import ledger as ledgers
from onym.batch.ledger import Quarantined, quarantine, release, status, verify, watch
from onym.batch.rows import Receipt, read_receipt
from onym.batch.run import run_batch
from onym.store.storage import Storage, open_storage
from tests.batch.runs import InlineEngine, finish_run, plan_run


def test_nothing_is_done_before_a_run(tiny_kb: Path, tmp_path: Path) -> None:
    plan = plan_run(tiny_kb, tmp_path)
    ledger = status(tmp_path / "out")
    assert (ledger.receipts, ledger.is_done, ledger.open_shards) == ({}, False, list(plan.shards))


def test_moved_output_is_still_done(tiny_kb: Path, tmp_path: Path) -> None:
    counts = finish_run(tiny_kb, tmp_path).counts()
    (tmp_path / "out").rename(tmp_path / "moved")
    assert status(tmp_path / "moved").counts() == counts


def test_quarantined_shards_come_last(tiny_kb: Path, tmp_path: Path) -> None:
    plan = plan_run(tiny_kb, tmp_path)
    storage = open_storage(tmp_path / "out")
    quarantine(storage, Quarantined(0, "internal-error", "a bug"))
    (tmp_path / "out" / "quarantine" / "note.txt").write_text("{")
    ledger = status(storage)
    assert ledger.quarantined == {0: Quarantined(0, "internal-error", "a bug")}
    assert ledger.open_shards[-1] == plan.shards[0]
    release(storage, 0)
    assert status(storage).quarantined == {}


def test_watch_yields_each_new_shard(tiny_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, out = plan_run(tiny_kb, tmp_path), tmp_path / "out"
    read: list[str] = []

    def note_receipt(storage: Storage, name: str) -> Receipt | None:
        read.append(name)
        return read_receipt(storage, name)

    monkeypatch.setattr(ledgers, "read_receipt", note_receipt)

    def link_one(_seconds: float) -> None:
        count = len(plan.shards)
        done = sum(1 for _ in (out / "shards").glob("*.parquet")) if (out / "shards").exists() else 0
        run_batch(out, engine=InlineEngine(), part=f"{done + 1}/{count}")
        read.clear()

    looks = list(watch(out, pause=link_one))
    assert [len(look.ledger.receipts) for look in looks] == list(range(len(plan.shards) + 1))
    assert looks[0].documents_per_s == 0 < looks[-1].documents_per_s
    assert read == [plan.shards[-1].name]  # only the new receipt is read, not those of earlier shards


def test_watch_does_not_wait_for_quarantined_shards(tiny_kb: Path, tmp_path: Path) -> None:
    plan = plan_run(tiny_kb, tmp_path)
    storage = open_storage(tmp_path / "out")

    def give_up(_seconds: float) -> None:
        for shard in plan.shards:
            quarantine(storage, Quarantined(shard.number, "batch-worker-died", "gone"))

    looks = list(watch(tmp_path / "out", pause=give_up))
    assert len(looks) == 2
    assert f"{len(plan.shards)} shards quarantined" in looks[-1].description


def test_verify_complete_output(tiny_kb: Path, tmp_path: Path) -> None:
    finish_run(tiny_kb, tmp_path)
    assert verify(tmp_path / "out") == []


def test_verify_before_a_run(tiny_kb: Path, tmp_path: Path) -> None:
    plan = plan_run(tiny_kb, tmp_path)
    assert [fault.what for fault in verify(tmp_path / "out")] == ["not linked yet"] * len(plan.shards)


def test_verify_detects_changed_rows(tiny_kb: Path, tmp_path: Path) -> None:
    finish_run(tiny_kb, tmp_path)
    path = tmp_path / "out" / "shards" / "000000.parquet"
    footer = pq.read_metadata(path).metadata
    table = pq.read_table(path)
    at = table.schema.get_field_index("concept_id")
    table = table.set_column(at, "concept_id", pc.replace_substring(table["concept_id"], "D005334", "D005335"))
    pq.write_table(table.replace_schema_metadata({b"onym": footer[b"onym"]}), path)
    assert [(fault.shard, fault.what) for fault in verify(tmp_path / "out")] == [
        ("shards/000000.parquet", "its rows have changed since they were written")
    ]


def test_verify_detects_flipped_byte_truncated_and_unknown_file(tiny_kb: Path, tmp_path: Path) -> None:
    finish_run(tiny_kb, tmp_path)
    shards = tmp_path / "out" / "shards"
    data = bytearray((shards / "000000.parquet").read_bytes())
    data[60] ^= 1
    (shards / "000000.parquet").write_bytes(data)
    (shards / "000001.parquet").write_bytes((shards / "000001.parquet").read_bytes()[:50])
    pq.write_table(pa.table({"a": [1]}), shards / "9.parquet")
    assert [fault.what for fault in verify(tmp_path / "out")] == [
        "its rows cannot be read",
        "corrupt, or of another plan",
        "not a shard of the plan",
    ]
