"""What this machine has verified: the files of an artefact are hashed once, and again only where one of them was touched."""

from __future__ import annotations

from pathlib import Path

from onym.store.artefact.manifest import Manifest
from onym.store.cache import file_state, read_note, write_note

_KIND = "verified"


def remember(folder: Path, manifest: Manifest) -> None:
    """Note that the files of a version are those of its manifest; does nothing where no note can be kept."""
    write_note(_KIND, folder, _state(folder, manifest))


def is_verified(folder: Path, manifest: Manifest) -> bool:
    """Return whether these very files were verified on this machine."""
    try:
        return bool(read_note(_KIND, folder) == _state(folder, manifest))
    except OSError:
        return False


def _state(folder: Path, manifest: Manifest) -> list[object]:
    names = ("manifest.json", *sorted(manifest.files))
    return [folder.name, [[name, *file_state((folder / name).stat())] for name in names]]
