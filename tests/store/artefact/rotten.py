"""Changes bytes of an artefact while the cache still says that it is verified, as a failing disk would."""

from __future__ import annotations

from pathlib import Path

from onym.store import artefact as verified
from onym.store.artefact import Manifest


def rot(dest: Path, name: str, at: int, data: bytes) -> None:
    """Overwrite bytes of a file of the current version; a negative offset counts from its end."""
    version = dest / (dest / "CURRENT").read_text().strip()
    path = version / name
    with path.open("r+b") as file:
        file.seek(at, 2 if at < 0 else 0)
        file.write(data)
    remember(dest)


def remember(dest: Path) -> None:
    """Record in the cache that the files are verified in their current state."""
    version = dest / (dest / "CURRENT").read_text().strip()
    manifest = Manifest.from_bytes((version / "manifest.json").read_bytes(), where="")
    verified.remember(version, verified.state_of(version, manifest))
