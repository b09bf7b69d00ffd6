"""What this machine has verified: the files of an artefact are hashed once, and again only where one of them was touched."""

from __future__ import annotations

from pathlib import Path

from onym.store.artefact.manifest import Manifest
from onym.store.cache import file_state, read_note, write_note

_KIND = "verified"
State = list[object]
"""What tells a version's files from changed ones: of each its size, times, device and inode."""


def state_of(folder: Path, manifest: Manifest) -> State:
    """Return the state of the files of a version: as it is before they are hashed."""
    names = ("manifest.json", *sorted(manifest.files))
    return [folder.name, [[name, *file_state((folder / name).stat())] for name in names]]


def remember(folder: Path, state: State) -> None:
    """Note that the files were those of their manifest in this state; does nothing where no note can be kept."""
    write_note(_KIND, folder, state)


def is_verified(folder: Path, state: State) -> bool:
    """Return whether these very files were verified on this machine."""
    return bool(read_note(_KIND, folder) == state)
