"""Tests that a file is hashed only once, unless it was modified."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from onym.errors import InputError
from onym.parts import OpenContext
from onym.store import cache as digests
from onym.store.cache import file_digest

LARGE = 2_000_000


@pytest.fixture
def names_of_hashed_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that records the names of hashed files."""
    names: list[str] = []
    own = digests.hash_file

    def hash_file(path: Path) -> str:
        names.append(path.name)
        return own(path)

    monkeypatch.setattr(digests, "hash_file", hash_file)
    monkeypatch.setattr(digests, "_has_notes", True)  # an earlier test may have called ignore_notes(); undo that for this test
    return names


def write(path: Path, data: bytes) -> Path:
    """Write a file, and wait until its timestamp is old enough for caching."""
    path.write_bytes(data)
    time.sleep(0.15)
    return path


def another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "_known", {})


@pytest.mark.parametrize("data", [b"", b"{}", b"x" * LARGE])
def test_digest_is_the_sha256_of_the_content(tmp_path: Path, data: bytes) -> None:
    assert file_digest(write(tmp_path / "a", data)) == hashlib.sha256(data).hexdigest() == file_digest(tmp_path / "a")


def test_process_hashes_a_file_once_under_any_path(tmp_path: Path, names_of_hashed_files: list[str]) -> None:
    path = write(tmp_path / "config.json", b"{}")
    (tmp_path / "link").symlink_to(path)
    assert len({file_digest(path), file_digest(path), file_digest(tmp_path / "link")}) == 1
    assert names_of_hashed_files == ["config.json"]


def test_large_file_is_hashed_once_per_machine(
    tmp_path: Path, names_of_hashed_files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "model.safetensors", b"x" * LARGE)
    first = file_digest(path)
    another_process(monkeypatch)
    assert file_digest(path) == first
    assert names_of_hashed_files == ["model.safetensors"]


@pytest.mark.parametrize("size", [10, LARGE])
def test_modified_file_is_hashed_again(tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a", b"x" * size)
    before, first = path.stat(), file_digest(path)
    write(path, b"y" * size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file_digest(path) != first
    another_process(monkeypatch)
    assert file_digest(path) == hashlib.sha256(b"y" * size).hexdigest()


def test_digest_of_a_just_written_file_is_not_cached(tmp_path: Path, names_of_hashed_files: list[str]) -> None:
    (tmp_path / "a").write_bytes(b"1")
    file_digest(tmp_path / "a")
    file_digest(tmp_path / "a")
    assert names_of_hashed_files == ["a", "a"]


def test_digest_of_a_file_changed_during_hashing_is_not_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a", b"x" * LARGE)
    own = digests.hash_file

    def hash_file(path: Path) -> str:
        found = own(path)
        path.write_bytes(b"y" * LARGE)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digests, "hash_file", hash_file)
        file_digest(path)
    assert file_digest(path) == hashlib.sha256(b"y" * LARGE).hexdigest()


@pytest.mark.parametrize("note", [3, [], [[1], "ab", "cd"], {"a": 1}])
def test_ignores_malformed_notes(tmp_path: Path, note: object, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a", b"x" * LARGE)
    monkeypatch.setattr(digests, "read_note", lambda _kind, _path: note)
    assert file_digest(path) == hashlib.sha256(b"x" * LARGE).hexdigest()


def test_missing_file_raises(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(InputError, match="input-unreadable"):
            file_digest(path)


def test_ignore_notes_hashes_again(tmp_path: Path, names_of_hashed_files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "model.safetensors", b"x" * LARGE)
    file_digest(path)
    another_process(monkeypatch)
    OpenContext(verify="full")
    assert file_digest(path) == file_digest(path)
    assert names_of_hashed_files == ["model.safetensors"] * 2
