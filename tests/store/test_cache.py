"""The cache directory, and notes on files in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onym.store.cache import cache_folder, file_state, read_note, write_note


def test_the_cache_is_in_the_home_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ONYM_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "onym"


def test_a_note_is_of_one_kind_on_one_file(tmp_path: Path) -> None:
    write_note("sizes", tmp_path / "a", [3])
    (tmp_path / "link").symlink_to(tmp_path)
    assert read_note("sizes", tmp_path / "link" / "a") == [3], "however the file is named"
    assert read_note("sizes", tmp_path / "b") is None
    assert read_note("colours", tmp_path / "a") is None


def test_a_broken_note_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    write_note("sizes", tmp_path / "a", [3])
    next((tmp_path / "cache" / "sizes").iterdir()).write_bytes(b"[3")
    assert read_note("sizes", tmp_path / "a") is None


def test_where_no_note_can_be_kept_nothing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "file"))
    write_note("sizes", tmp_path / "a", [3])
    assert read_note("sizes", tmp_path / "a") is None


def test_the_state_of_a_file_changes_though_size_and_time_are_set_back(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    before = path.stat()
    (tmp_path / "b").write_text("two")
    (tmp_path / "b").replace(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file_state(path.stat())[:2] == file_state(before)[:2]
    assert file_state(path.stat()) != file_state(before)
