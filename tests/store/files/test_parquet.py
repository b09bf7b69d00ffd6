"""Tests of reading Parquet files in batches, and of rejecting invalid files."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onym.corpora.formats.parquet import SCHEMA as CORPUS_SCHEMA
from onym.errors import InputError, LimitError
from onym.store.files import parquet
from onym.store.files.parquet import iter_parquet, write_parquet
from onym.store.files.source import InputFile
from onym.store.limits import Limits
from tests.robustness.files import parquet_bombs as parquets
from tests.robustness.files.case import Case

SCHEMA = pa.schema({"id": pa.string(), "n": pa.int64()})


def write_compressed(rows: int, schema: pa.Schema = SCHEMA) -> bytes:
    table = pa.Table.from_pylist([{"id": str(n), "n": n} for n in range(rows)], schema=schema)
    buffer = io.BytesIO()
    write_parquet(iter(table.to_batches(max_chunksize=100)), schema, buffer)
    return buffer.getvalue()


def file(data: bytes) -> InputFile:
    return InputFile.from_bytes("a.parquet", data)


def test_yields_rows_in_batches() -> None:
    batches = list(iter_parquet(file(write_compressed(1000)), SCHEMA))
    assert sum(batch.num_rows for batch in batches) == 1000
    assert max(batch.num_rows for batch in batches) <= 256
    assert batches[0].column("n")[7].as_py() == 7


def test_rejects_missing_and_mistyped_columns() -> None:
    for schema in (pa.schema({"id": pa.string()}), pa.schema({"id": pa.string(), "n": pa.string()})):
        data = write_compressed(0, schema)
        with pytest.raises(InputError) as caught:
            list(iter_parquet(file(data), SCHEMA))
        assert caught.value.code == "parquet-columns"


def test_rejects_damaged_files() -> None:
    data = write_compressed(300)
    refused = 0
    for offset in range(4, len(data), 37):
        bad = bytearray(data)
        bad[offset] ^= 0xFF
        try:
            list(iter_parquet(file(bytes(bad)), SCHEMA))
        except (InputError, LimitError):
            refused += 1
    assert refused > len(range(4, len(data), 37)) // 2
    with pytest.raises(InputError) as caught:
        list(iter_parquet(file(data[:-9]), SCHEMA))
    assert caught.value.code == "parquet-malformed"


class Unseekable(io.BytesIO):
    """A file that is not seekable, like an archive member."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise io.UnsupportedOperation


def test_reads_a_file_that_is_not_seekable(monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_compressed(10)
    member = InputFile("a.parquet", lambda: Unseekable(data), len(data))
    assert sum(batch.num_rows for batch in iter_parquet(member, SCHEMA)) == 10
    monkeypatch.setattr(parquet, "_PACKED", 100)
    with pytest.raises(LimitError) as caught:
        list(iter_parquet(member, SCHEMA))
    assert caught.value.code == "limit-record"


def test_returns_the_schema_of_a_file() -> None:
    assert parquet.parquet_schema(file(write_compressed(2))).names == SCHEMA.names
    with pytest.raises(InputError, match="parquet-malformed"):
        parquet.parquet_schema(file(b"PAR1 and no more"))


def test_reads_a_compressed_file() -> None:
    packed_file = InputFile.from_bytes("a.parquet.gz", gzip.compress(write_compressed(10)))
    assert sum(batch.num_rows for batch in iter_parquet(packed_file, SCHEMA)) == 10


def write_table(table: pa.Table, **options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def refusal(data: bytes, schema: pa.Schema = SCHEMA, **limits: int) -> str:
    with pytest.raises((InputError, LimitError)) as caught:
        list(iter_parquet(InputFile.from_bytes("a.parquet", data, Limits(**limits)), schema))
    return caught.value.code


def test_rejects_a_row_group_that_needs_too_much_memory() -> None:
    assert refusal(write_compressed(100), parquet_bytes=1_000) == "limit-record"


def test_repeated_text_is_counted_for_each_row() -> None:
    table = pa.table({"id": ["a" * 100_000] * 300, "n": [1] * 300})
    data = write_table(table)
    assert len(data) < 20_000
    assert refusal(data, document_bytes=90_000) == "limit-record"
    assert refusal(data, ratio_grace_bytes=10_000_000) == "limit-ratio"
    batches = list(iter_parquet(InputFile.from_bytes("a", data, Limits(ratio=10_000)), SCHEMA))
    assert pa.Table.from_batches(batches).equals(table)
    assert [batch.num_rows for batch in batches] == [83, 83, 83, 51]


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_reads_text_in_each_encoding(encoding: str) -> None:
    table = pa.table({"id": [f"fever {n % 7}" if n % 3 else None for n in range(2_000)], "n": list(range(2_000))})
    data = write_table(table, use_dictionary=False, column_encoding={"id": encoding}, data_page_size=100)
    assert pa.Table.from_batches(list(iter_parquet(file(data), SCHEMA))).equals(table)


@pytest.mark.parametrize("case", [case for case in parquets.CASES if case.code], ids=lambda case: case.name)
def test_rejects_decompression_bombs(case: Case, tmp_path: Path) -> None:
    # Versions of Arrow raise different errors for groups that are nested too deeply.
    assert refusal(case.make(tmp_path).read_bytes(), CORPUS_SCHEMA) in {case.code, "parquet-columns"}
