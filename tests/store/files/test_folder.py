"""Tests of listing folders: every entry is a file or is skipped with a reason."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from onym.store.files.source import folder_files

Codes = dict[str, str]


def list_files(folder: Path, *, follow_links: bool = False) -> tuple[list[str], Codes]:
    files, skipped = folder_files(folder, follow_links=follow_links)
    return [file.name for file in files], {entry.name: entry.error.code if entry.error else "" for entry in skipped}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    (inside / "a").mkdir(parents=True)
    (inside / "a" / "1.txt").write_text("one")
    (inside / "2.txt").write_text("two")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "3.txt").write_text("three")
    return inside


def test_files_are_listed_by_name(folder: Path) -> None:
    assert list_files(folder) == (["2.txt", "a/1.txt"], {})


def test_rejects_links_out_of_the_folder_unless_followed(folder: Path) -> None:
    (folder / "b.txt").symlink_to("../secret.txt")
    (folder / "c").symlink_to("../outside")
    (folder / "a" / "d.txt").symlink_to("../2.txt")
    assert list_files(folder) == (["2.txt", "a/1.txt", "a/d.txt"], {"b.txt": "input-link", "c": "input-link"})
    assert list_files(folder, follow_links=True) == (["2.txt", "a/1.txt", "a/d.txt", "b.txt", "c/3.txt"], {})


def test_rejects_a_link_to_a_folder_with_the_same_name_prefix(folder: Path) -> None:
    (folder.parent / "inside too").mkdir()
    (folder.parent / "inside too" / "x.txt").write_text("x")
    (folder / "x.txt").symlink_to("../inside too/x.txt")
    assert list_files(folder)[1] == {"x.txt": "input-link"}


def test_link_cycles_terminate(folder: Path) -> None:
    (folder / "self").symlink_to("self")
    (folder / "up").symlink_to("..")
    (folder / "a" / "root").symlink_to("..")
    (folder / "b").symlink_to("a")
    (folder.parent / "outside" / "back").symlink_to("../inside")
    names, skipped = list_files(folder)
    assert names == ["2.txt", "a/1.txt"]
    assert skipped == {"self": "input-unreadable", "up": "input-link", "a/root": "", "b": ""}
    names, skipped = list_files(folder, follow_links=True)
    assert names == ["2.txt", "a/1.txt", "up/outside/3.txt", "up/secret.txt"]
    assert skipped["up/inside"] == skipped["up/outside/back"] == ""


def test_reports_entries_that_are_not_files(folder: Path) -> None:
    os.mkfifo(folder / "fifo.txt")
    (folder / "gone.txt").symlink_to("nothing")
    (folder / "zero.txt").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket.txt"))
        names, skipped = list_files(folder)
    assert names == ["2.txt", "a/1.txt"]
    assert skipped == {
        "fifo.txt": "input-missing", "gone.txt": "input-missing", "socket.txt": "input-missing", "zero.txt": "input-link",
    }  # fmt: skip
    assert list_files(folder, follow_links=True)[1]["zero.txt"] == "input-missing"


def test_reports_unreadable_folders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir

    def refusing(path: Path) -> object:
        if path.name == "a":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert list_files(folder) == (["2.txt"], {"a": "input-unreadable"})


def test_escapes_names_that_are_not_utf8(folder: Path) -> None:
    (folder / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    assert list_files(folder)[0] == ["2.txt", "a/1.txt", "caf\\xe9.txt"]


def test_there_is_no_limit_on_the_number_of_files(tmp_path: Path) -> None:
    for number in range(10_500):
        os.close(os.open(tmp_path / f"{number}.txt", os.O_CREAT | os.O_WRONLY))
    assert len(folder_files(tmp_path)[0]) == 10_500
