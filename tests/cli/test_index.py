"""Tests of `onym index` on the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from onym.cli.console import bar_on, progress_callback
from tests.cli.command import onym
from tests.support.models import save_encoder

pytest.importorskip("faiss")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a knowledge base and an encoder."""
    folder = tmp_path_factory.mktemp("index")
    (folder / "heart.csv").write_text("id,name,synonyms\nmesh:D1,Heart attack,Heart|Fever\nmesh:D2,Heart failure,\n")
    save_encoder(folder / "tiny-bert")
    onym("kb", "build", "heart.csv", "-o", "kb", cwd=folder)
    return folder


def test_index_is_stored_with_the_knowledge_base(folder: Path) -> None:
    described = json.loads(onym("index", "build", "kb", "--model", "tiny-bert", "--json", cwd=folder).stdout)
    assert (described["kind"], described["counts"]) == ("flat", {"names": 4})
    assert Path(described["folder"]).parent == Path("kb/indexes")
    again = json.loads(onym("index", "build", "kb", "--model", "tiny-bert", "--json", cwd=folder).stdout)
    assert again == described
    shown = onym("index", "info", "kb", cwd=folder).stdout.splitlines()
    assert {
        f"digest\t{described['digest']}",
        "kind\tflat",
        "names\t4",
        "width\t16",
        "bytes\t301",
        "bytes per name\t75.25",
    } <= set(shown)


def test_builds_an_index_in_another_folder(folder: Path) -> None:
    done = onym("index", "build", "kb", "--model", "tiny-bert", "--kind", "sq8", "-o", "own", cwd=folder)
    lines = done.stdout.splitlines()
    assert (lines[0], lines[2], lines[-1]) == ("folder\town", "kind\tsq8", "names\t4")
    assert done.stderr == ""
    (described,) = json.loads(onym("index", "info", "own", "--json", cwd=folder).stdout)
    assert (described["kind"], described["metric"], described["folder"]) == ("sq8", "inner-product", "own")


def test_reports_invalid_arguments(folder: Path) -> None:
    build = ("index", "build", "kb", "--model")
    assert "index-unknown" in onym(*build, "tiny-bert", "--kind", "magic", cwd=folder, status=2).stderr
    assert "model-missing" in onym(*build, "nowhere", cwd=folder, status=2).stderr
    assert "output-exists" in onym(*build, "tiny-bert", "-o", "tiny-bert", cwd=folder, status=2).stderr
    assert "artefact-missing" in onym("index", "info", "tiny-bert", cwd=folder, status=4).stderr


@pytest.mark.parametrize("command", ["build", "info"])
def test_the_help_has_an_example(folder: Path, command: str) -> None:
    assert f"Example: onym index {command} hpo-kb" in onym("index", command, "--help", cwd=folder).stdout


def test_progress_bar_shows_the_current_step() -> None:
    with bar_on(Console(file=io.StringIO(), force_terminal=True), "encoding names", 4) as bar:
        progress_callback(bar)("building the index", 3)
        (task,) = bar.tasks
    assert (task.description, task.completed, task.total) == ("building the index", 3, 4)
