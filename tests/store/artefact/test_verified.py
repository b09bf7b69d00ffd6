"""Tests of remembering in the cache that an artefact was verified on this machine."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from onym.store import artefact as verified
from onym.store.artefact import FileEntry, Manifest


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    (tmp_path / "a.npy").write_bytes(b"abc")
    (tmp_path / "manifest.json").write_bytes(b"{}")
    return Manifest(kind="t", format=1, config={}, inputs=(), counts={}, files={"a.npy": FileEntry(bytes=3, sha256="0" * 64)})


def test_verified_until_a_file_changes(tmp_path: Path, manifest: Manifest) -> None:
    state = verified.state_of(tmp_path, manifest)
    assert not verified.is_verified(tmp_path, state)
    verified.remember(tmp_path, state)
    assert verified.is_verified(tmp_path, state)
    os.utime(tmp_path / "a.npy", ns=(1, 1))
    assert not verified.is_verified(tmp_path, verified.state_of(tmp_path, manifest))


def test_overwritten_file_with_same_size_and_time_is_not_verified(tmp_path: Path, manifest: Manifest) -> None:
    verified.remember(tmp_path, verified.state_of(tmp_path, manifest))
    before = (tmp_path / "a.npy").stat()
    time.sleep(0.02)  # file timestamps advance only every few milliseconds
    (tmp_path / "a.npy").write_bytes(b"abd")
    os.utime(tmp_path / "a.npy", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not verified.is_verified(tmp_path, verified.state_of(tmp_path, manifest))


def test_copy_with_the_same_times_is_not_verified(tmp_path: Path, manifest: Manifest) -> None:
    verified.remember(tmp_path, verified.state_of(tmp_path, manifest))
    shutil.copy2(tmp_path / "a.npy", tmp_path / "b.npy")
    (tmp_path / "b.npy").replace(tmp_path / "a.npy")
    assert not verified.is_verified(tmp_path, verified.state_of(tmp_path, manifest))


def test_unwritable_cache_is_ignored(tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "not-a-folder").write_text("")
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "not-a-folder"))
    verified.remember(tmp_path, verified.state_of(tmp_path, manifest))
    assert not verified.is_verified(tmp_path, verified.state_of(tmp_path, manifest))
