"""Tests of the output file of a shard: rows, the digest of the rows, and the receipt."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onym.batch.rows import RECEIPT, SCHEMA_VERSION, Receipt, RowWriter, read_receipt, schema_of, update_digest
from onym.errors import IntegrityError
from onym.store.storage import open_storage
from onym.types import Candidate, Document, Link, LinkedDocument, Mention, Problem


def digest_of(rows: pa.Table) -> str:
    digest = hashlib.sha256()
    update_digest(digest, rows)
    return digest.hexdigest()


def test_writes_all_kinds_of_rows() -> None:
    fever = Mention(0, 5, "Fever")
    doc = Document("1", "Fever", (fever,), source="a.txt", ordinal=1)
    found = Candidate("mesh:D005334", "fever", 1.0, "Fever"), Candidate("mesh:D003371", "cough", 0.5)
    linked = LinkedDocument(doc, (Link(fever, found, detection_score=0.75),))
    file = io.BytesIO()
    with RowWriter(file) as rows:
        rows.add_linked(linked)
        rows.add_linked(LinkedDocument(Document("2", "None", source="a.txt", ordinal=2)))
        rows.add_linked(LinkedDocument(doc, problems=(Problem("3", "limit-record", "too long"),)))
        rows.add_problem(Problem("4", "document-deleted", "gone", "", "a.txt", 4))
        digest = rows.digest()
        rows.close(b"{}")
    table = pq.read_table(file)
    assert table["row"].to_pylist() == ["mention", "none", "problem", "deleted"]
    assert table["problem"].to_pylist() == [None, None, "limit-record", None]
    assert table["concept_id"].to_pylist() == ["mesh:D005334", None, None, None]
    assert table["detection_score"].to_pylist() == [0.75, None, None, None]
    names = "concept_id", "preferred_name", "matched_name", "score"
    candidates = ("mesh:D005334", "Fever", "fever", 1.0), ("mesh:D003371", None, "cough", 0.5)
    assert table["candidates"].to_pylist() == [[dict(zip(names, each, strict=True)) for each in candidates], None, None, None]
    assert table["ordinal"].to_pylist() == [1, 2, 1, 4]
    assert digest_of(table) == digest
    assert pq.read_metadata(file).metadata[RECEIPT] == b"{}"


@pytest.mark.parametrize(
    "other",
    [
        {"document": ["b"], "start": [1]},
        {"document": ["a"], "start": [2]},
        {"document": [None], "start": [1]},
        {"document": [""], "start": [1]},
        {"document": ["a"], "start": [None]},
        {"document": ["a", "a"], "start": [1, 1]},
    ],
)
def test_digest_depends_on_rows(other: dict[str, list[object]]) -> None:
    schema = pa.schema([("document", pa.string()), ("start", pa.int64())])
    rows = pa.Table.from_pydict({"document": ["a"], "start": [1]}, schema)
    changed = pa.Table.from_pydict(other, schema)
    assert digest_of(changed) != digest_of(rows)
    assert digest_of(pa.concat_tables([rows, rows]).slice(1)) == digest_of(rows)


@pytest.mark.parametrize(
    "other", [[[("a", 1.0)], [("b", 0.5)]], [[("a", 1.0), ("b", 0.0)], []], [[("a", 1.0), ("b", 0.5)], None]]
)
def test_digest_depends_on_candidates(other: list[list[tuple[str, float]] | None]) -> None:
    kind = pa.list_(pa.struct([("concept_id", pa.string()), ("score", pa.float64())]))

    def rows(lists: list[list[tuple[str, float]] | None]) -> pa.Table:
        structs = [None if each is None else [{"concept_id": a, "score": b} for a, b in each] for each in lists]
        return pa.table({"candidates": pa.array(structs, kind)})

    mine = rows([[("a", 1.0), ("b", 0.5)], []])
    assert digest_of(rows(other)) != digest_of(mine)
    assert digest_of(pa.concat_tables([mine, mine]).slice(2)) == digest_of(mine)
    assert digest_of(pa.concat_tables([mine.slice(0, 1), mine.slice(1)])) == digest_of(mine)


def test_interrupted_file_has_no_receipt() -> None:
    file = io.BytesIO()
    with pytest.raises(ZeroDivisionError), RowWriter(file):
        raise ZeroDivisionError
    assert RECEIPT not in (pq.read_metadata(file).metadata or {})


def test_schema_without_text() -> None:
    assert set(schema_of().names) - set(schema_of(text=False).names) == {"text"}


VALUES = {"key": "k", "shard": 0, "onym": "0", "documents": 1, "mentions": 2, "linked": 1, "tied": 0, "rows": 2, "digest": "d"}


def with_footer(path: Path, data: bytes | None) -> None:
    table = pa.table({"a": [1]})
    pq.write_table(table if data is None else table.replace_schema_metadata({RECEIPT: data}), path)


def test_receipt_round_trips(tmp_path: Path) -> None:
    with_footer(tmp_path / "a.parquet", json.dumps(VALUES).encode())
    assert read_receipt(open_storage(tmp_path), "a.parquet") == Receipt.model_validate(VALUES)


@pytest.mark.parametrize("data", [None, b"{", b"[]", b"{}", json.dumps(VALUES | {"documents": -1}).encode()])
def test_invalid_receipt_is_none(tmp_path: Path, data: bytes | None) -> None:
    with_footer(tmp_path / "a.parquet", data)
    assert read_receipt(open_storage(tmp_path), "a.parquet") is None


def test_truncated_or_missing_file_has_no_receipt(tmp_path: Path) -> None:
    with_footer(tmp_path / "a.parquet", json.dumps(VALUES).encode())
    whole = (tmp_path / "a.parquet").read_bytes()
    for size in (0, 3, len(whole) // 2, len(whole) - 1):
        (tmp_path / "a.parquet").write_bytes(whole[:size])
        assert read_receipt(open_storage(tmp_path), "a.parquet") is None
    assert read_receipt(open_storage(tmp_path), "none.parquet") is None


def test_rejects_newer_receipt(tmp_path: Path) -> None:
    with_footer(tmp_path / "a.parquet", json.dumps(VALUES | {"format": SCHEMA_VERSION + 1, "more": 1}).encode())
    with pytest.raises(IntegrityError) as caught:
        read_receipt(open_storage(tmp_path), "a.parquet")
    assert caught.value.code == "batch-version"
