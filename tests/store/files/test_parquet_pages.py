"""What a row group would take, by its page headers."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onym.errors import InputError, LimitError
from onym.store.files.parquet_pages import PageSizes, require_small_footer

ENOUGH = 10**9


def pages(table: pa.Table, limit: int = ENOUGH, **options: Any) -> PageSizes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    metadata = pq.read_metadata(buffer)
    return PageSizes(buffer, "a.parquet", metadata, list(range(metadata.num_columns)), limit)


def test_few_large_rows_are_decoded_at_once() -> None:
    small = pa.table({"text": [str(number) for number in range(1_000)]})
    large = pa.table({"text": [str(number) * 100_000 for number in range(100, 200)]})
    assert pages(small).rows_at_once(0) == 16_384
    assert pages(large).rows_at_once(0) == 16_384  # a dictionary holds each text once
    assert pages(large, use_dictionary=False, write_batch_size=1).rows_at_once(0) == 16


@pytest.mark.parametrize(("encoding", "rows"), [("DELTA_BYTE_ARRAY", 64), ("DELTA_LENGTH_BYTE_ARRAY", 16_384)])
def test_a_text_that_repeats_the_one_before_may_be_as_long_as_its_page(encoding: str, rows: int) -> None:
    table = pa.table({"text": ["a" * 100_000] + [str(number) for number in range(5_000)]})
    found = pages(table, use_dictionary=False, column_encoding={"text": encoding})
    assert found.as_dictionaries == []
    assert found.rows_at_once(0) == rows


def test_a_dictionary_that_is_not_read_as_one_counts_for_each_row() -> None:
    table = pa.table({"text": ["a" * 100_000] * 100})
    found = pages(table)
    found._expanded = {0}
    assert (pages(table).rows_at_once(0), found.rows_at_once(0)) == (16_384, 64)


def test_one_row_of_a_nested_column_may_have_all_values() -> None:
    table = pa.table({"spans": pa.array([[1] * 100] * 1_000)})
    assert pages(table).rows_at_once(0) == 16_384
    with pytest.raises(LimitError) as caught:
        pages(table, limit=1_000_000).rows_at_once(0)
    assert caught.value.code == "limit-record"


def test_small_footers_are_not_looked_into() -> None:
    require_small_footer(io.BytesIO(b"PAR1"), "a")
    require_small_footer(io.BytesIO(b"PAR1" + bytes(100) + (90).to_bytes(4, "little") + b"PAR1"), "a")


@pytest.mark.parametrize(
    ("size", "byte", "code"), [(5_000_000, b"\0", "limit-record"), (100_000, b"\x15", "parquet-malformed")]
)
def test_large_and_damaged_footers_are_refused(size: int, byte: bytes, code: str) -> None:
    with pytest.raises((InputError, LimitError)) as caught:
        require_small_footer(io.BytesIO(b"PAR1" + byte * size + size.to_bytes(4, "little") + b"PAR1"), "a")
    assert caught.value.code == code
