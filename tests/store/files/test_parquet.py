"""The door to Parquet: batches of one schema, and refusals."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest

from onym.errors import InputError, LimitError
from onym.store.files import parquet
from onym.store.files.parquet import iter_parquet, write_parquet
from onym.store.files.source import InputFile

SCHEMA = pa.schema({"id": pa.string(), "n": pa.int64()})


def packed(rows: int, schema: pa.Schema = SCHEMA) -> bytes:
    table = pa.Table.from_pylist([{"id": str(n), "n": n} for n in range(rows)], schema=schema)
    buffer = io.BytesIO()
    write_parquet(iter(table.to_batches(max_chunksize=100)), schema, buffer)
    return buffer.getvalue()


def file(data: bytes) -> InputFile:
    return InputFile.from_bytes("a.parquet", data)


def test_rows_come_in_batches() -> None:
    batches = list(iter_parquet(file(packed(1000)), SCHEMA))
    assert sum(batch.num_rows for batch in batches) == 1000
    assert max(batch.num_rows for batch in batches) <= 256
    assert batches[0].column("n")[7].as_py() == 7


def test_other_columns_are_refused() -> None:
    for schema in (pa.schema({"id": pa.string()}), pa.schema({"id": pa.string(), "n": pa.string()})):
        data = packed(0, schema)
        with pytest.raises(InputError) as caught:
            list(iter_parquet(file(data), SCHEMA))
        assert caught.value.code == "parquet-columns"


def test_damage_is_refused_everywhere() -> None:
    data = packed(300)
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
    """As a member of an archive is."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise io.UnsupportedOperation


def test_a_member_of_an_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed(10)
    member = InputFile("a.parquet", lambda: Unseekable(data), len(data))
    assert sum(batch.num_rows for batch in iter_parquet(member, SCHEMA)) == 10
    monkeypatch.setattr(parquet, "_GROUP", 100)
    with pytest.raises(LimitError) as caught:
        list(iter_parquet(member, SCHEMA))
    assert caught.value.code == "limit-record"


def test_a_large_row_group_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_GROUP", 10)
    with pytest.raises(LimitError) as caught:
        list(iter_parquet(file(packed(100)), SCHEMA))
    assert caught.value.code == "limit-record"


def test_the_columns_of_a_file() -> None:
    assert parquet.parquet_schema(file(packed(2))).names == SCHEMA.names
    with pytest.raises(InputError, match="parquet-malformed"):
        parquet.parquet_schema(file(b"PAR1 and no more"))
