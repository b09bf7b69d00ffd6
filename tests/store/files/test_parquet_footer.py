"""Tests of parsing the footer of Parquet files."""

from __future__ import annotations

import io
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onym.errors import InputError, LimitError, OnymError
from onym.store.files.input_file import InputFile
from onym.store.files.parquet import iter_parquet, parquet_schema
from onym.store.guards.parquet import read_row_groups

TABLE = pa.table({"id": ["1", "2", "3"], "spans": pa.array([[1, 2], [], None])})


def write_table(table: pa.Table = TABLE, **options: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


DELTA = {"use_dictionary": False, "column_encoding": {"id": "DELTA_BYTE_ARRAY"}}


@pytest.mark.parametrize("options", [{}, {"row_group_size": 2}, {"use_dictionary": False}, DELTA])
def test_row_groups_agree_with_arrow(options: dict[str, object]) -> None:
    data = io.BytesIO(write_table(**options))
    metadata, groups = pq.read_metadata(data), read_row_groups(data, "a")
    assert [group.rows for group in groups] == [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
    for number, group in enumerate(groups):
        for column, chunk in enumerate(group.columns):
            known = metadata.row_group(number).column(column)
            start = known.dictionary_page_offset if known.has_dictionary_page else known.data_page_offset
            assert (chunk.start, chunk.end) == (start, start + known.total_compressed_size)
            assert chunk.values == known.num_values
            assert (7 in chunk.encodings) == ("DELTA_BYTE_ARRAY" in known.encodings)


@pytest.mark.parametrize("data", [b"PAR1", b"PAR1" + bytes(100) + (200).to_bytes(4, "little") + b"PAR1", bytes(100)])
def test_rejects_files_that_are_not_parquet(data: bytes) -> None:
    with pytest.raises(InputError, match="parquet-malformed"):
        read_row_groups(io.BytesIO(data), "a")


@pytest.mark.parametrize(
    ("size", "byte", "code"), [(5_000_000, b"\0", "limit-record"), (100_000, b"\x15", "parquet-malformed")]
)
def test_rejects_large_and_damaged_footers(size: int, byte: bytes, code: str) -> None:
    with pytest.raises((InputError, LimitError)) as caught:
        read_row_groups(io.BytesIO(b"PAR1" + byte * size + size.to_bytes(4, "little") + b"PAR1"), "a")
    assert caught.value.code == code


def test_damaged_footer_never_crashes_the_process() -> None:
    """Arrow would abort the process on a column whose levels contradict its statistics (footer bytes 19 and 20)."""
    data, codes = write_table(), set()
    length = struct.unpack("<I", data[-8:-4])[0]
    for position in range(len(data) - 8 - length, len(data) - 8):
        for value in (0x02, 0x19, 0x26, data[position] ^ 0x01):
            file = InputFile.from_bytes("a.parquet", data[:position] + bytes([value]) + data[position + 1 :])
            try:
                list(iter_parquet(file, parquet_schema(file)))
            except OnymError as e:
                codes.add(e.code)
    assert codes == {"parquet-malformed"}
