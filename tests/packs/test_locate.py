"""Tests of finding pipelines by name: the starter, installed pipelines, and folders."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.starter import make_starter

from onym.kb.name_table import FOLDER as NAME_TABLES
from onym.packs.locate import STARTER, find_install_folder, load, locate, locate_kb
from onym.pipeline.folder import build_pipeline
from tests.cli.command import onym, onym_bytes

TEXT = "Patients with breast cancer (BC) and type 2 diabetes mellitus. BC was frequent."


def test_the_starter_finds_and_links_diseases() -> None:
    linked = load(STARTER).link(TEXT)
    assert [(link.mention.surface, link.mention.type) for link in linked.links] == [
        ("breast cancer", "Disease"),
        ("BC", "Disease"),
        ("type 2 diabetes mellitus", "Disease"),
        ("BC", "Disease"),
    ]
    assert {link.concept_id for link in linked.links[:2]} == {linked.links[3].concept_id}
    assert linked.links[2].concept_id == "mesh:D003924"
    assert all(link.confidence is not None and 0.5 < link.confidence <= 1 for link in linked.links)


def test_starter_needs_no_optional_packages() -> None:
    code = (
        "import sys, onym; extras = ('torch', 'sklearn', 'scipy', 'sparse_dot_topn', 'transformers', 'pandas');"
        "sys.modules.update(dict.fromkeys(extras));"
        f"print(len(onym.load('starter').link({TEXT!r}).links))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "4\n"


def test_starter_is_the_default_of_onym_link(tmp_path: Path) -> None:
    done = onym("link", TEXT, "--json", cwd=tmp_path)
    assert "MESH:D003924" in done.stdout
    assert "starter" in done.stderr
    assert b"MESH:D003924" in onym_bytes("link", TEXT, "--pipeline", "starter", cwd=tmp_path)


def test_folder_takes_precedence_over_name(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(STARTER).mkdir()
    assert locate(STARTER).is_absolute(), "a folder without a pipeline is none"
    build_pipeline(tiny_kb, STARTER)
    assert locate(STARTER) == Path(STARTER)
    assert load(STARTER).link("fever").links[0].concept_id == "mesh:D005334"
    assert locate("other") == Path("other")


def test_an_installed_pipeline_is_found_by_its_name(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    assert locate("fevers") == Path("fevers"), "nothing of that name is installed"
    build_pipeline(tiny_kb, find_install_folder("fevers"))
    assert locate("fevers") == find_install_folder("fevers")
    assert load("fevers").link("fever").links[0].concept_id == "mesh:D005334"
    assert locate("../pipelines/fevers") == Path("../pipelines/fevers"), "a path is no name"


@pytest.mark.real_data
def test_starter_is_reproducible(tmp_path: Path) -> None:
    made, kept = tmp_path / "made", locate(STARTER)
    make_starter(made)

    def files(folder: Path) -> dict[str, bytes]:
        found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        return {name: path.read_bytes() for name, path in found.items() if NAME_TABLES not in name}  # made when first used

    expected, found = files(kept), files(made)
    assert sorted(found) == sorted(expected)
    assert [name for name in expected if found[name] != expected[name]] == []


def test_the_knowledge_base_of_a_pipeline_in_a_folder(tiny_kb: Path, tmp_path: Path) -> None:
    build_pipeline(tiny_kb, tmp_path / "pipeline")
    assert locate_kb(tmp_path / "pipeline").resolve() == tiny_kb.resolve()
    assert locate_kb(tiny_kb) == tiny_kb
