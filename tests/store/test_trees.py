"""Tests of copying and moving folders atomically."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.store.output import copy_file, copy_folder, move_folder


def _folder(path: Path, name: str) -> Path:
    (path / "inner").mkdir(parents=True)
    (path / "inner" / name).write_text(name)
    return path


def _names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_copy_has_all_files(tmp_path: Path) -> None:
    source = _folder(tmp_path / "one", "a.txt")
    copy_folder(source, tmp_path / "two")
    assert _names(tmp_path) == ["one/inner/a.txt", "two/inner/a.txt"]


def test_removes_leftovers_of_a_killed_copy(tmp_path: Path) -> None:
    source = _folder(tmp_path / "one", "a.txt")
    _folder(tmp_path / ".two.0123456789abcdef.onym-new", "half.txt")
    copy_folder(source, tmp_path / "two")
    assert _names(tmp_path) == ["one/inner/a.txt", "two/inner/a.txt"]


def test_failed_copy_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="output-failed"):
        copy_folder(tmp_path / "none", tmp_path / "two")
    assert list(tmp_path.iterdir()) == []


def test_copy_does_not_overwrite_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    with pytest.raises(ConfigError, match="output-exists"):
        copy_file(tmp_path / "a.txt", tmp_path / "b.txt")


def test_move_replaces_an_existing_folder(tmp_path: Path) -> None:
    old, new = _folder(tmp_path / "old", "a.txt"), _folder(tmp_path / "new", "b.txt")
    move_folder(new, old)
    assert _names(tmp_path) == ["old/inner/b.txt"]
    move_folder(old, tmp_path / "elsewhere" / "third")
    assert _names(tmp_path) == ["elsewhere/third/inner/b.txt"]
