"""`onym map` as a person uses it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from onym.testing.tiny_seq2seq import save_model
from tests.cli.command import onym


@pytest.fixture
def folder(tmp_path: Path, tiny_kb: Path) -> Path:
    (tmp_path / "terms.csv").write_text("n,diagnosis\n1,hart attack\n2,Fever\n3,\n")
    (tmp_path / "kb").symlink_to(tiny_kb)
    return tmp_path


def test_the_candidates_stand_next_to_the_terms(folder: Path) -> None:
    done = onym("map", "terms.csv", "--column", "diagnosis", "--kb", "kb", "-o", "out.tsv", "--json", cwd=folder)
    assert json.loads(done.stdout)["mapped"] == 2
    rows = [line.split("\t") for line in (folder / "out.tsv").read_text().splitlines()]
    assert rows[0] == ["n", "diagnosis", "concept_id", "concept_name", "score", "tied", "candidates", "confidence"]
    assert [row[2] for row in rows[1:]] == ["mesh:D009203", "mesh:D005334", ""]


def test_sssom(folder: Path) -> None:
    onym("map", "terms.csv", "--column", "diagnosis", "--kb", "kb", "-o", "out.sssom.tsv", "--linker", "exact", cwd=folder)
    assert "Fever\trdfs literal\tskos:exactMatch\tmesh:D005334" in (folder / "out.sssom.tsv").read_text()


def test_a_wrong_column_is_refused_without_the_first_row_which_may_be_data(folder: Path) -> None:
    done = onym("map", "terms.csv", "--column", "term", "--kb", "kb", "-o", "out.tsv", cwd=folder, status=3)
    assert "[table-columns]" in done.stderr
    assert "diagnosis" not in done.stderr
    assert not (folder / "out.tsv").exists()


def test_a_generative_linker(folder: Path, tiny_kb: Path) -> None:
    shutil.copytree(tiny_kb, folder / "own")
    save_model(folder / "model")
    words = ("--column", "diagnosis", "--kb", "own", "--linker", "generative", "--model", "model", "--types", "C23")
    onym("map", "terms.csv", *words, "-o", "out.tsv", cwd=folder)
    rows = [line.split("\t") for line in (folder / "out.tsv").read_text().splitlines()]
    assert [row[2] for row in rows[1:]] == ["mesh:D005334", "mesh:D005334", ""]


def test_by_a_pipeline(folder: Path) -> None:
    onym("pipeline", "build", "--kb", "kb", "--linker", "exact", "--detector", "none", "-o", "p", cwd=folder)
    words = ("map", "terms.csv", "--column", "diagnosis", "-o", "out.tsv")
    assert json.loads(onym(*words, "--pipeline", "p", "--json", cwd=folder).stdout)["mapped"] == 1
    for more in (
        (),
        ("--pipeline", "p", "--kb", "kb"),
        ("--pipeline", "p", "--linker", "exact"),
        ("--kb", "kb", "--precision", "0.9"),
    ):
        assert "[config-invalid]" in onym(*words, *more, "--force", cwd=folder, status=2).stderr
