"""What this machine has verified: an artefact's files are hashed once and then remembered by size and time of change."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from onym.errors import OnymError
from onym.store.artefact.manifest import Manifest
from onym.store.output import whole_file


def cache_folder() -> Path:
    """Return the folder for what may be lost: `ONYM_CACHE`, else `~/.cache/onym`."""
    return Path(os.environ.get("ONYM_CACHE") or Path.home() / ".cache" / "onym")


def remember(folder: Path, manifest: Manifest) -> None:
    """Note that the files of a version are those of its manifest; does nothing where no note can be kept."""
    with suppress(OSError, OnymError), whole_file(_note(folder), force=True) as file:
        file.write(json.dumps(_state(folder, manifest)).encode())


def is_remembered(folder: Path, manifest: Manifest) -> bool:
    """Tell whether these very files were verified on this machine."""
    try:
        return bool(json.loads(_note(folder).read_bytes()) == _state(folder, manifest))
    except (OSError, ValueError):
        return False


def _note(folder: Path) -> Path:
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:32]
    return cache_folder() / "verified" / f"{name}.json"


def _state(folder: Path, manifest: Manifest) -> list[object]:
    names = ("manifest.json", *sorted(manifest.files))
    return [folder.name, [[name, (status := (folder / name).stat()).st_size, status.st_mtime_ns] for name in names]]
