"""Tests of reading csv, tsv and xlsx tables."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from onym.errors import ConfigError, InputError
from onym.kb import readers
from onym.store.files.source import Source
from onym.store.files.xlsx import write_xlsx
from tests.kb.readers.conftest import facts_of, names_of, rows_of, source_of
from tests.support.releases import SAMPLES

TSV, CSV = SAMPLES["table"]


def test_finds_columns_by_their_usual_names() -> None:
    rows = rows_of(TSV, "table")
    assert rows[0] == {
        "concept_id": "made:1",
        "name": 'Made-up "high" fever',
        "kind": "preferred",
        "language": "en",
        "source": "made",
        "definition": "A rise\nof doubt.",
        "semantic_types": ["C23", "C01"],
        "xrefs": ["umls:C9000001", "mesh:D900001"],
    }
    assert [(name, kind) for _, name, kind in names_of(rows)[1:]] == [
        ("Old fever", "retired"),
        ("Doubtful fever", "exact"),
        ("MUF", "exact"),
    ]
    assert facts_of(rows, "successors") == [("made:3", ["made:1"])]


def test_commas_quotes_and_newlines_in_cells() -> None:
    rows = rows_of(CSV, "table", prefix="demo")
    assert names_of(rows) == [
        ("demo:1", "Fever, made up", "preferred"),
        ("mesh:D900001", "Line\nbreak", "preferred"),
        ("demo:1", "MUF", "exact"),
        ("demo:1", "Doubt", "exact"),
    ]


def test_reads_columns_given_by_the_caller() -> None:
    text = "key\twhat\tother\nX:1\ta\tb|c\n"
    columns = {"id": "key", "name": "what", "synonyms": "other"}
    assert [name for _, name, _ in names_of(rows_of({"a.tsv": text}, "table", columns=columns))] == ["a", "b", "c"]


def test_given_columns_take_precedence_over_usual_names() -> None:
    text = "id\tname\ttitle\nX:1\ta\tb\n"
    assert names_of(rows_of({"a.tsv": text}, "table", columns={"name": "title"})) == [("x:1", "b", "preferred")]


def test_usual_column_names_are_case_insensitive() -> None:
    assert names_of(rows_of({"a.csv": "CUI,STR\nX:1,a\n"}, "table")) == [("x:1", "a", "preferred")]


def test_ids_without_prefix_get_that_of_the_release() -> None:
    source = Source("demo.tsv", source_of({"demo.tsv": "id\tname\n1\ta\n"}).files)
    (batch,) = readers.read(source, "table")
    assert batch.column("concept_id").to_pylist() == ["demo:1"]


def test_kinds() -> None:
    text = "id\tname\tkind\n" + "".join(
        f"X:1\t{kind}\t{kind}\n" for kind in ("preferred", "Abbreviation", "narrow", "retired", "odd", "")
    )
    assert [kind for _, _, kind in names_of(rows_of({"a.tsv": text}, "table"))] == [
        "preferred", "abbreviation", "narrow", "retired", "exact", "exact",
    ]  # fmt: skip


def test_rows_without_an_id_are_skipped() -> None:
    assert names_of(rows_of({"a.tsv": "id\tname\n\ta\n \tb\nX:1\tc\n"}, "table")) == [("x:1", "c", "preferred")]


def test_empty_cells_are_null() -> None:
    (row,) = rows_of({"a.tsv": "id\tname\tlanguage\tsource\tdefinition\treplaced_by\tsynonyms\nX:1\ta\t\t\t\t\t\n"}, "table")
    assert row == {"concept_id": "x:1", "name": "a", "kind": "preferred"}


@pytest.mark.parametrize("columns", [{"name": "absent"}, {"id": "absent", "name": "name"}])
def test_rejects_a_missing_column(columns: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as e:
        rows_of({"a.tsv": "id\tname\nX:1\ta\n"}, "table", columns=columns)
    assert e.value.code == "table-columns"
    assert "id, name" in e.value.fix


def test_rejects_a_table_without_an_id_or_a_name() -> None:
    with pytest.raises(ConfigError) as e:
        rows_of({"a.tsv": "foo\tbar\n1\t2\n"}, "table")
    assert e.value.code == "table-columns"
    with pytest.raises(ConfigError):
        readers.detect(source_of({"a.tsv": "foo\tbar\n1\t2\n"}))


@pytest.mark.parametrize("text", ["id\tname\nX:1\n", "id\tname\nX:1\ta\tb\n"])
def test_rejects_a_row_with_the_wrong_number_of_fields(text: str) -> None:
    with pytest.raises(InputError) as e:
        rows_of({"a.tsv": text}, "table")
    assert e.value.code == "table-fields"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_any_delimiter_is_recognised(name: str, delimiter: str) -> None:
    text = f"id{delimiter}name\nX:1{delimiter}fever\n"
    assert names_of(rows_of({name: text}, "table")) == [("x:1", "fever", "preferred")]
    assert readers.detect(source_of({name: text})) == "table"


def test_reads_a_spreadsheet(tmp_path: Path) -> None:
    with (tmp_path / "ward.xlsx").open("wb") as file:
        write_xlsx(
            [[17, "Fever", "Pyrexia|High temperature", 3.5], [None, None, None, None]], ["Key", "name", "synonyms", "x"], file
        )
    source = Source.open(tmp_path / "ward.xlsx")
    rows = [row for batch in readers.read(source, "table", {"id": "Key"}) for row in batch.to_pylist()]
    assert [(row["concept_id"], row["name"]) for row in rows] == [
        ("ward:17", "Fever"), ("ward:17", "Pyrexia"), ("ward:17", "High temperature")
    ]  # fmt: skip
    with pytest.raises(ConfigError) as e:
        list(readers.read(source, "table"))
    fix = "give them with --column id=COLUMN --column name=COLUMN; the columns are Key, name, synonyms, x"
    assert e.value.fix == fix


def test_a_spreadsheet_is_recognised(tmp_path: Path) -> None:
    with (tmp_path / "ward.xlsx").open("wb") as file:
        write_xlsx([[17, "Fever"]], ["id", "name"], file)
    source = Source.open(tmp_path)
    assert readers.detect(source) == "table"
    assert not source.files[0].was_read


@pytest.mark.real_data
def test_reads_mesh_headings_of_2026(real_data: Path) -> None:
    source = Source.open(real_data / "mesh" / "mesh2026_descriptor_labels.csv.gz")
    assert readers.detect(source) == "table"
    rows = pl.concat([pl.DataFrame(batch) for batch in readers.read(source, "table")])
    assert rows["concept_id"].n_unique() == rows["name"].n_unique() == 30_532
    assert rows["concept_id"].str.contains("^mesh:D[0-9]+$").all()
