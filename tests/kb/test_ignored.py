"""Tests that files of a release that are not read are listed with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import InputError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.ignored import IgnoredFile, summarise_ignored
from onym.kb.recipe import Recipe
from onym.store.files.input_file import InputFile
from onym.store.files.table import TableFormat, header

MESH_TABLE = "D000001\tCalcimycin\tA-23187\tD03.633\n"
OBO = "format-version: 1.2\n\n[Term]\nid: HP:1\nname: Fever\n"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = tmp_path / "release"
    folder.mkdir()
    for name, text in {
        "hp.obo": OBO, "mesh.tsv": MESH_TABLE, "LICENSE": "free", "ward.csv": "Code,Text\n1,a\n", "empty.txt": ""
    }.items():  # fmt: skip
        (folder / name).write_text(text)
    (folder / "again").symlink_to(folder)
    return folder


def build(release: Path, **source: str) -> tuple[list[IgnoredFile], KnowledgeBase]:
    ignored: list[IgnoredFile] = []
    recipe = Recipe.of({"sources": [{"path": str(release), **source}]})
    build_kb(recipe, release.parent / "kb", report_ignored=ignored.extend)
    return ignored, KnowledgeBase.open(release.parent / "kb")


def test_every_file_of_a_folder_is_an_input_or_ignored(release: Path) -> None:
    ignored, kb = build(release)
    assert [entry.name for entry in kb.manifest.inputs] == ["release/hp.obo"]
    assert {file.name: (file.why, file.fix.partition(";")[0]) for file in ignored} == {
        "release/LICENSE": (
            "not part of the format obo, and no other format is recognised",
            "if it is a terminology, add the file as a separate source, with --format",
        ),
        "release/empty.txt": (
            "not part of the format obo, and no other format is recognised",
            "if it is a terminology, add the file as a separate source, with --format",
        ),
        "release/mesh.tsv": (
            "format mesh_table, but the release is read as obo",
            "--format mesh_table reads only this format",
        ),
        "release/ward.csv": (
            "a table without a known id and name column",
            "add the file as a separate source, with --column id=COLUMN --column name=COLUMN",
        ),
        "release/again": ("a link to a folder that is read under another name", ""),
    }
    assert [file["name"] for file in kb.report()["ignored"]] == [file.name for file in ignored]


def test_the_suggested_format_reads_the_file(release: Path) -> None:
    ignored, kb = build(release, format="mesh_table")
    assert list(kb["mesh:D000001"].names) == ["calcimycin", "a 23187"]
    assert "release/hp.obo" in {file.name for file in ignored}


def test_a_release_without_ignored_files_has_an_empty_list(release: Path) -> None:
    ignored, kb = build(release / "hp.obo")
    assert ignored == []
    assert "ignored" not in kb.report()


def test_a_format_without_files_is_an_error(release: Path) -> None:
    with pytest.raises(InputError, match="no file in the format mesh_mappings") as caught:
        build(release, format="mesh_mappings")
    assert caught.value.code == "input-missing"


def test_ignored_files_are_logged_by_default(release: Path, caplog: pytest.LogCaptureFixture) -> None:
    build_kb(Recipe.of({"sources": [{"path": str(release)}]}), release.parent / "kb")
    assert "release/mesh.tsv" in caplog.text


def test_many_files_of_one_reason_are_one_line() -> None:
    (line,) = summarise_ignored([IgnoredFile(f"{n}.txt", "unknown") for n in range(20)])
    assert line.startswith("ignored 20 files (unknown): 0.txt, ")
    assert line.endswith("7.txt and 12 more")


def test_reading_the_head_does_not_mark_a_file_as_read() -> None:
    file = InputFile.from_bytes("a.tsv", b"id\tname\n")
    assert file.head(64) == b"id\tname\n"
    assert header(file, TableFormat()) == ["id", "name"]
    assert not file.was_read
