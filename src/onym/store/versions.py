"""Versioned folders: a writer switches to a new version atomically, and readers keep the version that they opened.

    DIR/CURRENT             the name of the current version, as in an artefact
    DIR/<16 hex digits>/    a version

A reader holds a shared lock on the version that it opened. A writer removes old versions that no reader has locked. On
file systems without locks, no version is removed.
"""

from __future__ import annotations

import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from onym.store.artefact import POINTER, VERSION, current_version
from onym.store.hidden import hold, release, remove_all_left
from onym.store.output import sync_folder, whole_file


@dataclass(frozen=True, slots=True)
class HeldFolder:
    """A locked folder. Writers do not remove it until it is released."""

    path: Path
    lock: int | None = None

    def release(self) -> None:
        """Release the lock, so that writers may remove the folder."""
        release(self.lock)


def new_version(folder: Path) -> Path:
    """Return a path for a new version; the caller creates the folder.

    >>> new_version(Path("pipelines/hpo")).parent.as_posix()
    'pipelines/hpo'
    """
    return folder / secrets.token_hex(8)


def switch_version(version: Path) -> None:
    """Make a complete version the current version, and remove old versions that no reader has locked.

    Only one process may do this at a time, so the caller must hold a lock.

    >>> version = new_version(getfixture("tmp_path") / "hpo")
    >>> version.mkdir(parents=True)
    >>> switch_version(version)
    >>> current_folder(version.parent) == version
    True
    """
    sync_folder(version.parent)
    with whole_file(version.parent / POINTER, force=True) as file:
        file.write(version.name.encode() + b"\n")
    _remove_unused(version.parent)


def current_folder(folder: Path) -> Path:
    """Return the path of the current version in a folder, or the folder itself if it has no versions.

    >>> current_folder(Path("no/such/folder")).as_posix()
    'no/such/folder'
    """
    return folder / current_version(folder)


def hold_current(folder: Path) -> HeldFolder | None:
    """Lock the current version of a folder; return None if it has no versions."""
    while name := current_version(folder):
        found = hold_version(folder / name)
        if current_version(folder) == name:
            return found
        if found is not None:  # a writer may have removed the version before it was locked
            found.release()
    return None


def hold_version(path: Path) -> HeldFolder | None:
    """Return the folder, and lock it if it is a version. Return None if the version was removed or is being removed."""
    if not is_version(path):
        return HeldFolder(path)
    try:
        return HeldFolder(path, hold(path, is_shared=True))
    except OSError:
        return None


def is_version(path: Path) -> bool:
    """Return whether a path has the form of a version's path. The version itself may have been removed.

    >>> is_version(Path("pipelines/hpo"))
    False
    """
    return bool(VERSION.match(path.name)) and (path.parent / POINTER).is_file()


def _remove_unused(folder: Path) -> None:
    remove_all_left(folder)
    current = current_version(folder)
    for path in folder.iterdir():
        if VERSION.match(path.name) and path.name != current:
            with suppress(OSError):
                lock = hold(path)
                if lock is not None:
                    shutil.rmtree(path, ignore_errors=True)
                release(lock)
