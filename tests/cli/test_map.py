"""Tests of `onym map` on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from onym.outputs.table import TERM_COLUMNS as COLUMNS
from onym.packs.locate import STARTER_TITLE
from onym.store.files.xlsx import read_cells, write_xlsx
from tests.cli.command import onym, onym_bytes
from tests.support.models import save_model


@pytest.fixture
def folder(tmp_path: Path, tiny_kb: Path) -> Path:
    (tmp_path / "terms.csv").write_text("n,diagnosis\n1,hart attack\n2,Fever\n3,\n")
    (tmp_path / "kb").symlink_to(tiny_kb)
    return tmp_path


def test_adds_candidates_to_each_row(folder: Path) -> None:
    done = onym("map", "terms.csv", "--column", "diagnosis", "--kb", "kb", "-o", "out.tsv", "--json", cwd=folder)
    assert json.loads(done.stdout)["mapped"] == 2
    rows = [line.split("\t") for line in (folder / "out.tsv").read_text().splitlines()]
    assert rows[0] == ["n", "diagnosis", *COLUMNS]
    assert [row[2] for row in rows[1:]] == ["MESH:D009203", "MESH:D005334", ""]


def test_prints_the_table_without_output(folder: Path) -> None:
    words = ("map", "terms.csv", "--column", "diagnosis", "--kb", "kb", "--linker", "exact")
    rows = [line.split("\t") for line in onym_bytes(*words, "--id-style", "raw", cwd=folder).decode().splitlines()]
    assert [row[:3] for row in rows] == [
        ["n", "diagnosis", "concept_id"],
        ["1", "hart attack", ""],
        ["2", "Fever", "D005334"],
        ["3", "", ""],
    ]
    lines = [json.loads(line) for line in onym(*words, "--json", cwd=folder).stdout.splitlines()]
    assert [(line["diagnosis"], line["concept_id"], line["nil_reason"]) for line in lines] == [
        ("hart attack", None, "no-candidate"),
        ("Fever", "MESH:D005334", None),
        ("", None, None),
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["kb", "terms.csv"], "nothing is written"


def test_from_a_spreadsheet_to_a_spreadsheet(folder: Path) -> None:
    with (folder / "terms.xlsx").open("wb") as file:
        write_xlsx([["1", "Fever"], ["2", "=1+1"], [None, None]], ["n", "diagnosis"], file)
    onym("map", "terms.xlsx", "--column", "diagnosis", "--kb", "kb", "--linker", "exact", "-o", "out.xlsx", cwd=folder)
    assert [row[:3] for row in read_cells(folder / "out.xlsx")] == [
        ("n", "diagnosis", "concept_id"),
        ("1", "Fever", "MESH:D005334"),
        ("2", "=1+1", None),
    ]


def test_accepts_a_pipeline_as_kb(folder: Path) -> None:
    (folder / "attack.csv").write_text("n,term\n1,Heart attack\n")
    onym("map", "attack.csv", "--column", "term", "--kb", "starter", "-o", "attack.tsv", "--linker", "exact", cwd=folder)
    assert "MESH:D009203" in (folder / "attack.tsv").read_text()


def test_sssom(folder: Path) -> None:
    onym("map", "terms.csv", "--column", "diagnosis", "--kb", "kb", "-o", "out.sssom.tsv", "--linker", "exact", cwd=folder)
    assert "Fever\trdfs literal\tskos:exactMatch\tmesh:D005334" in (folder / "out.sssom.tsv").read_text()


def test_unknown_column_error_lists_the_columns(folder: Path) -> None:
    done = onym("map", "terms.csv", "--column", "term", "--kb", "kb", "-o", "out.tsv", cwd=folder, status=3)
    assert "[table-columns]" in done.stderr
    assert "the columns are" in done.stderr
    assert "diagnosis" in done.stderr
    assert not (folder / "out.tsv").exists()


def test_a_generative_linker(folder: Path, tiny_kb: Path) -> None:
    shutil.copytree(tiny_kb, folder / "own")
    save_model(folder / "model")
    words = ("--column", "diagnosis", "--kb", "own", "--linker", "generative", "--model", "model", "--types", "C23")
    onym("map", "terms.csv", *words, "-o", "out.tsv", cwd=folder)
    rows = [line.split("\t") for line in (folder / "out.tsv").read_text().splitlines()]
    assert [row[2] for row in rows[1:]] == ["MESH:D005334", "MESH:D005334", ""]


def test_maps_with_a_pipeline(folder: Path) -> None:
    onym("pipeline", "build", "--kb", "kb", "--linker", "exact", "--detector", "none", "-o", "p", cwd=folder)
    words = ("map", "terms.csv", "--column", "diagnosis", "-o", "out.tsv")
    assert json.loads(onym(*words, "--pipeline", "p", "--json", cwd=folder).stdout)["mapped"] == 1
    for more, code in (
        (("--pipeline", "p", "--kb", "kb"), "config-invalid"),
        (("--pipeline", "p", "--linker", "exact"), "config-invalid"),
        (("--kb", "kb", "--precision", "0.9"), "pipeline-uncalibrated"),
    ):
        assert f"[{code}]" in onym(*words, *more, "--force", cwd=folder, status=2).stderr


def test_the_starter_is_the_default(folder: Path) -> None:
    (folder / "terms.csv").write_text("diagnosis\ntype 2 diabetes mellitus\n")
    done = onym("map", "terms.csv", "--column", "diagnosis", "-o", "out.tsv", cwd=folder)
    assert f"No --pipeline given; using the built-in starter ({STARTER_TITLE})." in done.stderr
    assert (folder / "out.tsv").read_text().splitlines()[1].split("\t")[1] == "MESH:D003924"
