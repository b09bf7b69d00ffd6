"""Tests of choosing the cache directory, and of the notes about files that are kept in it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.store.cache import cache_folder, file_state, read_note, write_note


def test_cache_is_in_the_home_directory_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ONYM_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "onym"


def test_notes_are_separate_by_kind_and_file(tmp_path: Path) -> None:
    write_note("sizes", tmp_path / "a", [3])
    (tmp_path / "link").symlink_to(tmp_path)
    assert read_note("sizes", tmp_path / "link" / "a") == [3], "links are resolved"
    assert read_note("sizes", tmp_path / "b") is None
    assert read_note("colours", tmp_path / "a") is None


def test_invalid_note_reads_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    write_note("sizes", tmp_path / "a", [3])
    next((tmp_path / "cache" / "sizes").iterdir()).write_bytes(b"[3")
    assert read_note("sizes", tmp_path / "a") is None


def test_unwritable_cache_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "file"))
    write_note("sizes", tmp_path / "a", [3])
    assert read_note("sizes", tmp_path / "a") is None


def test_file_state_changes_even_if_size_and_time_are_restored(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    before = path.stat()
    (tmp_path / "b").write_text("two")
    (tmp_path / "b").replace(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file_state(path.stat())[:2] == file_state(before)[:2]
    assert file_state(path.stat()) != file_state(before)


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Remove the home directory, and return the temporary folder used instead."""

    def unknown() -> Path:
        raise RuntimeError("could not determine home directory")

    monkeypatch.delenv("ONYM_CACHE")
    monkeypatch.setattr(Path, "home", unknown)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_without_a_home_the_cache_is_a_private_folder(homeless: Path) -> None:
    assert cache_folder() == cache_folder() == homeless / f"onym-{os.geteuid()}"
    assert cache_folder().stat().st_mode & 0o777 == 0o700
    write_note("sizes", homeless / "a", [3])
    assert read_note("sizes", homeless / "a") == [3]


@pytest.mark.parametrize("kind", ["writable by others", "a link", "no folder to be had"])
def test_without_a_home_rejects_a_folder_of_another_user(homeless: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    folder = homeless / f"onym-{os.geteuid()}"
    if kind == "a link":
        (homeless / "theirs").mkdir()
        folder.symlink_to(homeless / "theirs")
    elif kind == "writable by others":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        monkeypatch.setattr(tempfile, "tempdir", str(homeless / "absent"))
    with pytest.raises(ConfigError, match="cache-folder"):
        cache_folder()
    write_note("sizes", homeless / "a", [3])
    assert read_note("sizes", homeless / "a") is None
