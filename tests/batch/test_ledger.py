"""What is done, from the footers alone."""

from __future__ import annotations

from pathlib import Path

from onym.batch.ledger import Quarantined, quarantine, release, status
from onym.store.storage import open_storage
from tests.batch.runs import finished, planned


def test_nothing_is_done_before_a_run(tiny_kb: Path, tmp_path: Path) -> None:
    plan = planned(tiny_kb, tmp_path)
    ledger = status(tmp_path / "out")
    assert (ledger.receipts, ledger.is_done, ledger.open_shards) == ({}, False, list(plan.shards))


def test_a_moved_output_is_still_done(tiny_kb: Path, tmp_path: Path) -> None:
    counts = finished(tiny_kb, tmp_path).counts()
    (tmp_path / "out").rename(tmp_path / "moved")
    assert status(tmp_path / "moved").counts() == counts


def test_shards_that_were_quarantined_come_last(tiny_kb: Path, tmp_path: Path) -> None:
    plan = planned(tiny_kb, tmp_path)
    storage = open_storage(tmp_path / "out")
    quarantine(storage, Quarantined(0, "internal-error", "a bug"))
    (tmp_path / "out" / "quarantine" / "note.txt").write_text("{")
    ledger = status(storage)
    assert ledger.quarantined == {0: Quarantined(0, "internal-error", "a bug")}
    assert ledger.open_shards[-1] == plan.shards[0]
    release(storage, 0)
    assert status(storage).quarantined == {}
