"""Tests of reading the first sheet of .xlsx files, and of writing cells that are never evaluated as formulas."""

from __future__ import annotations

import io
import random
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onym.errors import ConfigError, InputError, LimitError, OnymError
from onym.store.files import xlsx
from onym.store.files.xlsx import read_cells, read_xlsx, write_xlsx

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


def write_sheet(path: Path, rows: list[list[object]], columns: tuple[str, ...] = ("a", "b")) -> Path:
    with path.open("wb") as file:
        write_xlsx(rows, columns, file)
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(text=TEXTS, number=st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**40), 2**40) | st.none())
def test_round_trip(tmp_path: Path, text: str, number: float | None) -> None:
    assert list(read_cells(write_sheet(tmp_path / "t.xlsx", [[text, number]])))[1] == (text, number)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "=cmd|' /C calc'!A0"])
def test_formulas_are_written_as_text(tmp_path: Path, text: str) -> None:
    import openpyxl

    book = openpyxl.load_workbook(write_sheet(tmp_path / "t.xlsx", [[text, 1]]))
    cell = book.worksheets[0]["A2"]
    assert (cell.value, cell.data_type, cell.quotePrefix) == (text, "s", True)


def test_converts_cells_to_text(tmp_path: Path) -> None:
    import datetime

    path = write_sheet(tmp_path / "t.xlsx", [[1.0, datetime.datetime(2026, 5, 5, tzinfo=None)], [None, 0.25]])
    assert list(read_xlsx(path)) == [("a", "b"), ("1", "2026-05-05T00:00:00"), ("", "0.25")]


def test_rejects_too_many_rows_and_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="32,767 characters"):
        write_sheet(tmp_path / "t.xlsx", [["x" * 32_768, 1]])
    monkeypatch.setattr(xlsx, "MAX_ROWS", 2)
    write_sheet(tmp_path / "t.xlsx", [["x", 1]])
    with pytest.raises(ConfigError, match="at most 2 rows"):
        write_sheet(tmp_path / "t.xlsx", [["x", 1], ["y", 2]])


def test_rejects_files_that_are_not_workbooks(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    for data in (b"", b"PK", b"a,b\n1,2\n"):
        path.write_bytes(data)
        with pytest.raises(InputError, match="archive-corrupt"):
            list(read_cells(path))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.xml", "<a/>")
    with pytest.raises(InputError, match="xlsx-malformed"):
        list(read_cells(path))


def test_rejects_a_decompression_bomb(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", b"a" * 20_000_000)
    with pytest.raises(LimitError, match="decompression bomb"):
        list(read_cells(path))


def test_does_not_expand_entities(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    whole = write_sheet(tmp_path / "t.xlsx", [["fever", 1]])
    for declared in ('<!ENTITY x "laughter">', f'<!ENTITY x SYSTEM "file://{tmp_path}/secret">'):
        hostile = tmp_path / "h.xlsx"
        with zipfile.ZipFile(whole) as old, zipfile.ZipFile(hostile, "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                data = old.read(name)
                if name.endswith("sheet1.xml"):
                    data = f"<!DOCTYPE a [{declared}]>".encode() + data.replace(b"fever", b"&x;")
                new.writestr(name, data)
        try:
            cells = str(list(read_cells(hostile)))
        except InputError as e:
            cells = str(e)
        assert "secret" not in cells.replace(str(tmp_path), "")


def test_damaged_files_raise_coded_errors(tmp_path: Path) -> None:
    whole = write_sheet(tmp_path / "t.xlsx", [["fever", number] for number in range(50)]).read_bytes()
    rng, path = random.Random(5), tmp_path / "d.xlsx"
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(bytes(data)[: rng.randint(len(data) // 2, len(data))])
        try:
            list(read_cells(path))
        except OnymError as e:
            assert e.code in {"xlsx-malformed", "archive-corrupt", "archive-path", "limit-ratio", "limit-members"}  # noqa: PT017


def test_missing_openpyxl_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ConfigError, match="not installed") as caught:
        write_xlsx([], ["a"], io.BytesIO())
    assert caught.value.fix == "pip install 'onym[serve]'"
