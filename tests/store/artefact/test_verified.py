"""What a machine remembers of artefacts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onym.store.artefact import verified
from onym.store.artefact.manifest import FileEntry, Manifest


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    (tmp_path / "a.npy").write_bytes(b"abc")
    (tmp_path / "manifest.json").write_bytes(b"{}")
    return Manifest(kind="t", format=1, config={}, inputs=(), counts={}, files={"a.npy": FileEntry(bytes=3, sha256="0" * 64)})


def test_cached_until_a_file_changes(tmp_path: Path, manifest: Manifest) -> None:
    assert not verified.is_verified(tmp_path, manifest)
    verified.remember(tmp_path, manifest)
    assert verified.is_verified(tmp_path, manifest)
    os.utime(tmp_path / "a.npy", ns=(1, 1))
    assert not verified.is_verified(tmp_path, manifest)


def test_where_no_note_can_be_kept_nothing_fails(tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "not-a-folder").write_text("")
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "not-a-folder"))
    verified.remember(tmp_path, manifest)
    assert not verified.is_verified(tmp_path, manifest)
