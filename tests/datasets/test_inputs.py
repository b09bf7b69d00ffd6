"""Tests of finding required files: the leading folders of their usual path may be missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets.base import DatasetFiles, RequiredFile, members
from onym.errors import InputError
from onym.store.files.source import InputFile, Source
from tests.datasets.made import write, write_biosyn

REQUIRED = RequiredFile("a/b/c.txt")


@pytest.mark.parametrize("path", ["a/b/c.txt", "b/c.txt", "c.txt", "c.txt.gz", "b/c.txt.zst"])
def test_finds_file_at_usual_path_or_suffix(tmp_path: Path, path: str) -> None:
    write(tmp_path / path, "x")
    assert REQUIRED.find(tmp_path) == tmp_path / path


def test_prefers_longest_path_and_respects_min_parts(tmp_path: Path) -> None:
    write(tmp_path / "c.txt", "x")
    assert RequiredFile("a/b/c.txt", min_parts=2).find(tmp_path) is None
    write(tmp_path / "b" / "c.txt", "x")
    assert REQUIRED.find(tmp_path) == tmp_path / "b" / "c.txt"


def test_folder_is_not_accepted_as_file(tmp_path: Path) -> None:
    (tmp_path / "c.txt").mkdir()
    assert REQUIRED.find(tmp_path) is None
    assert RequiredFile("c.txt", is_archive=True).find(tmp_path) == tmp_path / "c.txt"


def test_reports_all_missing_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="dataset-files") as caught:
        DatasetFiles.find(tmp_path, (REQUIRED, RequiredFile("d.txt")))
    assert "a/b/c.txt, d.txt" in caught.value.what


def test_entry_names_do_not_contain_the_data_folder(tmp_path: Path) -> None:
    entries = []
    for folder in ("one", "two/a/b"):
        write(tmp_path / folder / "c.txt", "x")
        entries.append(DatasetFiles.find(tmp_path / folder.split("/")[0], (REQUIRED,)).entries())
    assert entries[0] == entries[1]
    assert (entries[0][0].name, entries[0][0].bytes) == ("c.txt", 1)


def test_entries_of_a_folder_are_the_files_read(tmp_path: Path) -> None:
    write_biosyn(tmp_path, packed=False)
    inputs = DatasetFiles.find(tmp_path, (RequiredFile("biosyn_format/ncbi-disease", is_archive=True),))
    source = inputs.source("biosyn_format/ncbi-disease")
    with members(source, "processed_dev", "*.concept").files[0].open() as stream:
        stream.read()
    assert [entry.name for entry in inputs.entries()] == ["ncbi-disease/processed_dev/3.concept"]


def test_rejects_archive_without_required_members() -> None:
    source = Source.of_files("a.zip", [InputFile.from_bytes("a/dev/1.txt", b"")])
    with pytest.raises(InputError, match="dataset-files"):
        members(source, "test", "*.txt")
    with pytest.raises(InputError, match="dataset-files"):
        members(source, "", "2.txt")
