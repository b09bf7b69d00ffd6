"""Outputs that are whole, and outputs that are not."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from onym.batch.checking import verify
from tests.batch.runs import finished, planned


def test_a_whole_output(tiny_kb: Path, tmp_path: Path) -> None:
    finished(tiny_kb, tmp_path)
    assert verify(tmp_path / "out") == []


def test_nothing_yet(tiny_kb: Path, tmp_path: Path) -> None:
    plan = planned(tiny_kb, tmp_path)
    assert [fault.what for fault in verify(tmp_path / "out")] == ["not linked yet"] * len(plan.shards)


def test_changed_rows_under_the_old_receipt(tiny_kb: Path, tmp_path: Path) -> None:
    finished(tiny_kb, tmp_path)
    path = tmp_path / "out" / "shards" / "000000.parquet"
    footer = pq.read_metadata(path).metadata
    table = pq.read_table(path)
    at = table.schema.get_field_index("concept_id")
    table = table.set_column(at, "concept_id", pc.replace_substring(table["concept_id"], "D005334", "D005335"))
    pq.write_table(table.replace_schema_metadata({b"onym": footer[b"onym"]}), path)
    assert [(fault.shard, fault.what) for fault in verify(tmp_path / "out")] == [
        ("shards/000000.parquet", "its rows are not those that were written")
    ]


def test_a_byte_that_a_disk_changed_a_torn_file_and_a_stranger(tiny_kb: Path, tmp_path: Path) -> None:
    finished(tiny_kb, tmp_path)
    shards = tmp_path / "out" / "shards"
    data = bytearray((shards / "000000.parquet").read_bytes())
    data[60] ^= 1
    (shards / "000000.parquet").write_bytes(data)
    (shards / "000001.parquet").write_bytes((shards / "000001.parquet").read_bytes()[:50])
    pq.write_table(pa.table({"a": [1]}), shards / "9.parquet")
    assert [fault.what for fault in verify(tmp_path / "out")] == [
        "its rows cannot be read",
        "torn, or of another plan",
        "no shard of the plan",
    ]
