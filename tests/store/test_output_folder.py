"""Tests that folders are written atomically and never replace another folder by accident."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.store import output
from onym.store.output import Folder, whole_folder


def fill(path: Path, force: bool = False, **files: str) -> None:
    with whole_folder(path, force=force) as folder:
        for name, text in files.items():
            with folder.file(name.replace("__", ".")) as file:
                file.write(text.encode())


def contents(path: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in path.iterdir()}


def test_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out"
    with whole_folder(target) as folder:
        with folder.file("a.txt") as file:
            file.write(b"one")
        assert not target.exists()
    assert contents(target) == {"a.txt": "one"}
    assert stat.S_IMODE(target.stat().st_mode) & 0o700 == 0o700
    assert [path.name for path in target.parent.iterdir()] == ["out"]


def test_failure_leaves_no_folder(tmp_path: Path) -> None:
    def fail() -> None:
        with whole_folder(tmp_path / "out") as folder, folder.file("a.txt") as file:
            file.write(b"one")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_replaces_an_existing_folder_only_with_force(tmp_path: Path) -> None:
    target = tmp_path / "out"
    fill(target, a__txt="old", b__txt="old")
    with pytest.raises(ConfigError) as caught:
        fill(target, a__txt="new")
    assert caught.value.code == "output-exists"
    fill(target, force=True, a__txt="new")
    assert contents(target) == {"a.txt": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    fill(tmp_path / "out", a__txt="new")
    assert contents(tmp_path / "out") == {"a.txt": "new"}


@pytest.mark.parametrize("kind", ["other file", "folder inside", "file"])
def test_force_does_not_replace_a_folder_with_other_files(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "out"
    if kind == "file":
        target.write_text("mine")
    elif kind == "folder inside":
        (target / "a").mkdir(parents=True)
    else:
        target.mkdir()
        (target / "thesis.doc").write_text("mine")
    with pytest.raises(ConfigError) as caught:
        fill(target, force=True, a__txt="new")
    assert caught.value.code == "output-exists"
    assert target.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_failed_replacement_restores_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out"
    fill(target, a__txt="old")
    rename = Path.rename

    def failing(self: Path, to: Path) -> Path:
        if to == target and self.name.endswith(".onym-new"):
            raise OSError(28, "no space")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(ConfigError) as caught:
        fill(target, force=True, a__txt="new")
    assert caught.value.code == "output-failed"
    assert contents(target) == {"a.txt": "old"}


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd", "a\\b", "a\x00b"])
def test_rejects_file_names_that_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError) as caught, Folder(tmp_path).file(name):
        pass
    assert caught.value.code == "output-failed"


def test_rejects_a_duplicate_file_name(tmp_path: Path) -> None:
    with Folder(tmp_path).file("a"):
        pass
    with pytest.raises(ConfigError) as caught, Folder(tmp_path).file("a"):
        pass
    assert caught.value.code == "output-exists"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_parent_folder_raises(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigError) as caught:
        fill(tmp_path / "out", a="x")
    tmp_path.chmod(0o700)
    assert caught.value.code == "output-failed"


def test_folder_permissions_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with whole_folder(tmp_path / "out") as folder:
            with folder.inner("deep").file("a.txt"):
                pass
            (folder.path / "private").touch(0o600)
            (folder.path / "deep").chmod(0o700)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "out", *(tmp_path / "out").rglob("*")]}
    assert modes == {"out": 0o750, "deep": 0o750, "a.txt": 0o640, "private": 0o640}


def test_syncs_subfolders_before_the_folder_appears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    own = output.sync_folder

    def sync(folder: Path) -> None:
        synced.append(folder.name)
        own(folder)

    monkeypatch.setattr(output, "sync_folder", sync)
    with whole_folder(tmp_path / "model") as folder, folder.inner("1_Pooling").file("config.json") as file:
        file.write(b"{}")
    assert "1_Pooling" in synced


def test_write_creates_subfolders(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "out") as folder:
        folder.write("a.txt", b"a")
        folder.write("in/of/b.txt", b"b")
        for name in ("../c", "/c", "in//c", ""):
            with pytest.raises(ConfigError, match="output-failed"):
                folder.write(name, b"c")
    found = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert found == {"a.txt", "in/of/b.txt"}
