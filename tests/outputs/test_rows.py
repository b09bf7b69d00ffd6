"""Tests of reading and writing tables in every format."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from onym.errors import ConfigError
from onym.outputs.rows import WRITERS, read_rows, require_rows, write_plain_csv, write_rows

COLUMNS: dict[str, type] = {"text": str, "count": int, "score": float}
ROWS: list[list[Any]] = [["=1+1", 1, 0.5], [None, None, None], ["'quoted", 2, 0.0001], ["a\nb\t,", 3, -1.0]]


@pytest.mark.parametrize("ending", WRITERS)
def test_round_trip(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows{ending}"
    with path.open("wb") as file:
        write_rows(iter(ROWS), COLUMNS, path, file)
    frame = read_rows(path, COLUMNS)
    assert frame.columns == list(COLUMNS)
    assert [list(row) for row in frame.rows()] == ROWS


def test_extension_selects_the_format() -> None:
    for name in ("-", *(f"a{ending}" for ending in WRITERS)):
        require_rows(Path(name))
    with pytest.raises(ConfigError, match="'.doc' is not a table format"):
        require_rows(Path("a.doc"))


def test_many_rows_are_written_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.outputs.rows._ROWS", 2)
    path = tmp_path / "rows.parquet"
    with path.open("wb") as file:
        write_rows(iter(ROWS), COLUMNS, path, file)
    assert read_rows(path, COLUMNS).height == len(ROWS)


def test_database_csv_does_not_escape_text() -> None:
    file = io.BytesIO()
    write_plain_csv([("=1", None), ("'a\r", 2), ('"b"\n', 3)], {"text": str, "end": int}, file)
    assert file.getvalue() == b'text,end\n=1,\n"\'a\r",2\n"""b""\n",3\n'
    write_plain_csv([("c", 4)], {"text": str, "end": int}, file, header=False)
    assert file.getvalue().endswith(b"\nc,4\n")


@pytest.mark.parametrize("ending", WRITERS)
def test_tables_for_people_have_four_decimals(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows{ending}"
    with path.open("wb") as file:
        write_rows([["a", 1, 0.123456]], COLUMNS, path, file)
    expected = 0.123456 if ending in (".jsonl", ".parquet") else 0.1235
    assert read_rows(path, COLUMNS)["score"].to_list() == [expected]
