"""Tests of versioned folders, with concurrent readers and one writer."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.store import hidden, versions
from onym.store.versions import current_folder, hold_current, hold_version, is_version, new_version, switch_version


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _switch(tmp_path / "hpo")
    return tmp_path / "hpo"


def _switch(folder: Path) -> Path:
    version = new_version(folder)
    version.mkdir(parents=True)
    (version / "file").touch()
    switch_version(version)
    return version


def test_held_version_is_removed_after_its_release(folder: Path) -> None:
    first, second = hold_current(folder), hold_current(folder)
    assert first is not None
    assert second is not None
    _switch(folder)
    assert (first.path / "file").exists()
    first.release()
    _switch(folder)
    assert (first.path / "file").exists(), "another reader still holds the lock"
    second.release()
    third = _switch(folder)
    assert sorted(folder.iterdir()) == sorted([third, folder / "CURRENT"])


def test_reader_retries_if_the_version_changed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer switches the version after the reader has read CURRENT but before the reader holds the lock."""
    real, versions_seen = hidden.hold, [current_folder(folder)]

    def hold(path: Path, *, is_shared: bool = False) -> int | None:
        if is_shared and len(versions_seen) < 3:
            monkeypatch.setattr(versions, "hold", real)
            versions_seen.append(_switch(folder))
            monkeypatch.setattr(versions, "hold", hold)
        return real(path, is_shared=is_shared)

    monkeypatch.setattr(versions, "hold", hold)
    held = hold_current(folder)
    assert held
    assert held.path == versions_seen[2] == current_folder(folder)
    held.release()


def test_removed_version_cannot_be_held(folder: Path) -> None:
    old = current_folder(folder)
    _switch(folder)
    assert is_version(old)
    assert hold_version(old) is None


def test_missing_current_version_cannot_be_held(folder: Path) -> None:
    (current_folder(folder) / "file").unlink()
    current_folder(folder).rmdir()
    assert hold_current(folder) is None


def test_without_locks_nothing_is_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.store.hidden._locks", None)
    first = current_folder(folder)
    held = hold_current(folder)
    assert held
    held.release()
    _switch(folder)
    assert first.exists()
