"""Tests of reading a column of terms from CSV, spreadsheets and Parquet."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onym.errors import InputError
from onym.outputs.mapping import read_terms
from onym.store.files.xlsx import write_xlsx


def test_a_quoted_csv(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('n,"term"\n1,"pain, chest"\n2,fever\n')
    table = read_terms(path, "term")
    assert (table.columns, table.column, list(table.rows)) == (("n", "term"), 1, [("1", "pain, chest"), ("2", "fever")])


def test_a_missing_column_is_reported_with_the_columns_that_exist(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("n\tterm\n1\tfever\n")
    with pytest.raises(InputError, match="table-columns") as caught:
        list(read_terms(path, "name").rows)
    assert caught.value.fix == "the columns are n, term"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_csv_with_other_separators(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(delimiter.join(["n", "term", "note"]) + "\n" + delimiter.join(["1", "fever", "x"]) + "\n")
    assert list(read_terms(path, "term").rows) == [("1", "fever", "x")]
    with pytest.raises(InputError, match="table-columns") as caught:
        read_terms(path, "name")
    assert caught.value.fix == "the columns are n, term, note", "the separator is the one of the most names"


def test_a_spreadsheet(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with path.open("wb") as file:
        write_xlsx([[1, "fever"], [2.5, None], [None, None], [True, "MI"]], ["n", "term"], file)
    table = read_terms(path, "term")
    assert (table.columns, list(table.rows)) == (("n", "term"), [(1, "fever"), (2.5, None), (True, "MI")])
    with pytest.raises(InputError, match="table-columns"):
        read_terms(path, "name")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.string_view()])
def test_parquet(tmp_path: Path, kind: pa.DataType) -> None:
    columns = {
        "n": pa.array([1, None, 3]),
        "term": pa.array(["fever", None, "MI"]).cast(kind),
        "at": pa.array([0.5, None, 1.0]),
    }
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    path = tmp_path / "t.parquet"
    path.write_bytes(buffer.getvalue())
    table = read_terms(path, "term")
    assert list(table.rows) == [("1", "fever", "0.5"), ("", "", ""), ("3", "MI", "1.0")]
    with pytest.raises(InputError, match="table-columns"):
        read_terms(path, "name")
