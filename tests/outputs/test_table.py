"""Tests of writing links as a flat table, one mention per row."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onym.errors import ConfigError
from onym.outputs.base import OutputContext, format_of_path
from onym.outputs.rows import WRITERS, require_rows
from onym.outputs.table import read_flat, write
from onym.types import COLUMNS, Candidate, Document, Link, LinkedDocument, Mention

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


def make_linked(text: str, name: str = "fever", score: float = 1.0) -> LinkedDocument:
    mention = Mention(0, len(text), text)
    return LinkedDocument(Document("d,1", text, (mention,)), (Link(mention, (Candidate("hp:0001945", name, score, name),)),))


def write_table(path: Path, *documents: LinkedDocument, text: bool = True) -> Path:
    with path.open("wb") as file:
        write(documents, file, OutputContext(path, text=text))
    return path


@pytest.mark.parametrize("ending", WRITERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(text=TEXTS, name=TEXTS, score=st.floats(allow_nan=False, allow_infinity=False))
def test_round_trip(tmp_path: Path, ending: str, text: str, name: str, score: float) -> None:
    path = write_table(tmp_path / f"t{ending}", make_linked(text, name, score), make_linked("fever"))
    shown = score if ending in (".jsonl", ".parquet") else round(score, 4)
    rows = [row for each in (make_linked(text, name, shown), make_linked("fever")) for row in each.rows()]
    assert read_flat(path).to_dicts() == rows


@pytest.mark.parametrize("ending", WRITERS)
def test_tables_without_rows_and_without_text(tmp_path: Path, ending: str) -> None:
    empty = read_flat(write_table(tmp_path / f"empty{ending}"))
    assert (empty.columns, empty.height) == (list(COLUMNS), 0)
    bare = read_flat(write_table(tmp_path / f"bare{ending}", make_linked("secret"), text=False))
    assert bare.columns == [name for name in COLUMNS if name != "text"]
    assert b"secret" not in (tmp_path / f"bare{ending}").read_bytes()


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-1+2", "@x", "\t=1", "\r=1"])
def test_formulas_are_escaped(tmp_path: Path, text: str) -> None:
    for ending in (".tsv", ".csv"):
        path = write_table(tmp_path / f"t{ending}", make_linked(text, text))
        cells = read_flat(path).row(0, named=True)
        assert (cells["text"], cells["matched_name"]) == (text, text)
        assert f"'{text}".encode() in path.read_bytes()


def test_extension_selects_the_format() -> None:
    names = ("a.tsv", "a.csv", "a.xlsx", "a.jsonl", "a.parquet", "-")
    assert [format_of_path(Path(name), prefer="table") for name in names] == ["table"] * 5 + [""]
    require_rows(Path("-"))
    with pytest.raises(ConfigError, match="'.doc' is not a table format"):
        require_rows(Path("links.doc"))
