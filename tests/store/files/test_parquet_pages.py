"""Tests of estimating the memory of a row group from its page headers."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onym.errors import LimitError
from onym.store.guards.parquet import PageSizes, read_row_groups

ENOUGH = 10**9


def pages(table: pa.Table, limit: int = ENOUGH, **options: Any) -> PageSizes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    schema, groups = pq.read_metadata(buffer).schema, read_row_groups(buffer, "a.parquet")
    return PageSizes(buffer, "a.parquet", schema, groups, columns=range(len(schema)), limit=limit)


def rows_at_once(found: PageSizes) -> int:
    return found.rows_at_once(read_row_groups(found._file, "a.parquet")[0])


def test_decodes_fewer_rows_at_once_if_they_are_large() -> None:
    small = pa.table({"text": [str(number) for number in range(1_000)]})
    large = pa.table({"text": [str(number) * 100_000 for number in range(100, 200)]})
    assert rows_at_once(pages(small)) == 16_384
    assert rows_at_once(pages(large)) == 16_384  # the long texts are in the dictionary, rows only have indices
    assert rows_at_once(pages(large, use_dictionary=False, write_batch_size=1)) == 16


@pytest.mark.parametrize(("encoding", "rows"), [("DELTA_BYTE_ARRAY", 64), ("DELTA_LENGTH_BYTE_ARRAY", 16_384)])
def test_delta_encoded_text_counts_with_its_page_size(encoding: str, rows: int) -> None:
    table = pa.table({"text": ["a" * 100_000] + [str(number) for number in range(5_000)]})
    found = pages(table, use_dictionary=False, column_encoding={"text": encoding})
    assert found.as_dictionaries == []
    assert rows_at_once(found) == rows


def test_expanded_dictionary_counts_for_each_row() -> None:
    table = pa.table({"text": ["a" * 100_000] * 100})
    found = pages(table)
    found._expanded = {0}
    assert (rows_at_once(pages(table)), rows_at_once(found)) == (16_384, 64)


def test_nested_column_counts_all_values_for_one_row() -> None:
    table = pa.table({"spans": pa.array([[1] * 100] * 1_000)})
    assert rows_at_once(pages(table)) == 16_384
    with pytest.raises(LimitError) as caught:
        rows_at_once(pages(table, limit=1_000_000))
    assert caught.value.code == "limit-record"
