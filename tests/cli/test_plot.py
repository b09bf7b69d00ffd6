"""Tests of `onym plot` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import onym
from tests.evaluate.names.families import build_families
from tests.support.models import save_encoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plot")
    build_families(folder, "mesh:P1\tgout\t\tT9")
    save_encoder(folder / "before")
    save_encoder(folder / "after", seed=1)
    (folder / "ids.txt").write_text("mesh:D00\nmesh:D01\n\nD10\n")
    return folder


def test_plots_names_for_two_models(folder: Path) -> None:
    words = ("plot", "names", "--kb", "kb", "--model", "before", "--model", "after", "--sample", "8", "-o", "names.png")
    lines = dict(line.split("\t") for line in onym(*words, cwd=folder).stdout.splitlines())
    assert (lines["concepts"], lines["names"]) == ("8", "48")
    assert lines["before"].endswith(" %")
    assert lines["after"].endswith(" %")
    drawn = (folder / "names.png").read_bytes()
    assert drawn.startswith(b"\x89PNG")
    assert "output-exists" in onym(*words, cwd=folder, status=2).stderr
    onym(*words, "--force", cwd=folder)
    assert (folder / "names.png").read_bytes() == drawn


def test_plots_concepts_from_a_file(folder: Path) -> None:
    words = ("plot", "names", "--kb", "kb", "--model", "before", "--concepts", "ids.txt", "-o", "ids.svg", "--json")
    described = json.loads(onym(*words, cwd=folder).stdout)
    assert described["concept_ids"] == ["mesh:D00", "mesh:D01", "mesh:D10"]
    assert (described["concepts"], described["names"]) == (3, 18)
    assert described["models"][0]["model"] == "before"
    assert 0 <= described["models"][0]["nearest_of_same_concept"] <= 1
    assert (folder / "ids.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--model", "before", "-o", "bad.gif"), "config-invalid"),
        (("--model", "none", "-o", "bad.png"), "model-missing"),
        (("--model", "before", "--types", "T9", "-o", "bad.png"), "names-too-few"),
        (("--model", "before", "--types", "none", "-o", "bad.png"), "filter-unknown"),
        (("--model", "before") * 4 + ("-o", "bad.png"), "config-invalid"),
    ],
)
def test_explains_usage_errors_and_writes_nothing(folder: Path, words: tuple[str, ...], code: str) -> None:
    assert code in onym("plot", "names", "--kb", "kb", *words, cwd=folder, status=2).stderr
    assert not list(folder.glob("*bad*"))


def test_the_help_has_an_example(folder: Path) -> None:
    assert "Example: onym plot names" in onym("plot", "names", "--help", cwd=folder).stdout
    assert "names" in onym("plot", "--help", cwd=folder).stdout
