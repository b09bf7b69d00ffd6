"""Tests of writing files atomically."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.store.output import new_folder, whole_file, whole_folder


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    with whole_file(tmp_path / "deep" / "out.txt") as file:
        file.write(b"half")
        assert not (tmp_path / "deep" / "out.txt").exists()
    assert (tmp_path / "deep" / "out.txt").read_bytes() == b"half"


def test_failure_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), whole_file(tmp_path / "out.txt"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_overwrites_a_file_only_with_force(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("old")
    with pytest.raises(ConfigError, match="output-exists"), whole_file(tmp_path / "out.txt"):
        pass
    with whole_file(tmp_path / "out.txt", force=True) as file:
        file.write(b"new")
    assert (tmp_path / "out.txt").read_text() == "new"


def test_full_disk_raises_and_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out.txt").write_text("old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match="output-failed") as caught, whole_file(tmp_path / "out.txt", force=True) as file:
        file.write(b"new")
    assert "no space left" in caught.value.what
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert (tmp_path / "out.txt").read_text() == "old"


def test_does_not_change_the_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def umask(_: int) -> int:
        raise AssertionError("umask was called, which changes the rights of files of other threads")

    monkeypatch.setattr(os, "umask", umask)
    with whole_file(tmp_path / "out.txt"):
        pass
    with whole_folder(tmp_path / "folder") as folder, folder.file("a.txt"):
        pass


def test_new_folder_has_a_unique_name(tmp_path: Path) -> None:
    assert len({new_folder(tmp_path, ".stage-") for _ in range(20)}) == len(list(tmp_path.glob(".stage-*"))) == 20


def test_file_permissions_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with whole_file(tmp_path / "out.txt"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "out.txt").stat().st_mode & 0o777 == 0o640
