"""Tests of reading tables of replaced ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import InputError
from onym.kb.diff import read_replacements


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "old\tnew\nC1\tD1\n\t\nC2\t\n"),
        ("a.csv", "note,retired_id,replaced_by\nx,C1,mesh:D1\n"),
        ("a.tsv", "whatever\tit is\nMESH:C1\tD1\n"),
    ],
)
def test_columns_are_found_by_name_or_position(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_replacements(tmp_path / name).rows() == [("mesh:C1", "mesh:D1")]


def test_one_column_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("old\nC1\n")
    with pytest.raises(InputError, match="table-columns"):
        read_replacements(tmp_path / "a.tsv")


def test_reads_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("old\tnew\n")
    assert read_replacements(tmp_path / "a.tsv").is_empty()
