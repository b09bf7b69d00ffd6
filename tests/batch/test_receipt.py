"""Receipts in footers."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onym.batch.receipt import Receipt, read_receipt
from onym.batch.rows import RECEIPT
from onym.errors import IntegrityError
from onym.store.storage import open_storage

VALUES = {"key": "k", "shard": 0, "onym": "0", "documents": 1, "mentions": 2, "linked": 1, "tied": 0, "rows": 2, "digest": "d"}


def with_footer(path: Path, data: bytes | None) -> None:
    table = pa.table({"a": [1]})
    pq.write_table(table if data is None else table.replace_schema_metadata({RECEIPT: data}), path)


def test_it_comes_back(tmp_path: Path) -> None:
    with_footer(tmp_path / "a.parquet", json.dumps(VALUES).encode())
    assert read_receipt(open_storage(tmp_path), "a.parquet") == Receipt.model_validate(VALUES)


@pytest.mark.parametrize("data", [None, b"{", b"[]", b"{}", json.dumps(VALUES | {"documents": -1}).encode()])
def test_none_of_ours(tmp_path: Path, data: bytes | None) -> None:
    with_footer(tmp_path / "a.parquet", data)
    assert read_receipt(open_storage(tmp_path), "a.parquet") is None


def test_a_torn_file_and_none(tmp_path: Path) -> None:
    with_footer(tmp_path / "a.parquet", json.dumps(VALUES).encode())
    whole = (tmp_path / "a.parquet").read_bytes()
    for size in (0, 3, len(whole) // 2, len(whole) - 1):
        (tmp_path / "a.parquet").write_bytes(whole[:size])
        assert read_receipt(open_storage(tmp_path), "a.parquet") is None
    assert read_receipt(open_storage(tmp_path), "none.parquet") is None


def test_a_newer_one_is_refused(tmp_path: Path) -> None:
    with_footer(tmp_path / "a.parquet", json.dumps(VALUES | {"format": 2, "more": 1}).encode())
    with pytest.raises(IntegrityError) as caught:
        read_receipt(open_storage(tmp_path), "a.parquet")
    assert caught.value.code == "batch-version"
