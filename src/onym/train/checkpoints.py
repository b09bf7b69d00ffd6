"""Complete checkpoints: one is sealed when all its files are on disk, and only sealed ones are resumed from."""

from __future__ import annotations

import json
import re
from pathlib import Path

from onym.store.output import remove_folder, sync_tree, whole_file

SEAL = "sealed.json"
_NAME = re.compile(r"^checkpoint-(\d+)$")


def seal(checkpoint: Path) -> None:
    """Mark a checkpoint as complete, after all its files are on disk."""
    sync_tree(checkpoint)
    files = sorted(path for path in checkpoint.rglob("*") if path.is_file() and path != checkpoint / SEAL)  # FSDP's are deeper
    sizes = {path.relative_to(checkpoint).as_posix(): path.stat().st_size for path in files}
    with whole_file(checkpoint / SEAL, force=True) as file:
        file.write(json.dumps(sizes, indent=1).encode() + b"\n")


def is_sealed(checkpoint: Path) -> bool:
    """Return whether a checkpoint is complete: sealed, and every file as long as it was then."""
    try:
        sizes = json.loads((checkpoint / SEAL).read_bytes())
        return all((checkpoint / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False


def sealed_checkpoints(folder: Path) -> list[Path]:
    """Return the complete checkpoints, the latest last.

    >>> sealed_checkpoints(getfixture("tmp_path"))
    []
    """
    found = [(int(match[1]), path) for path in folder.glob("checkpoint-*") if (match := _NAME.match(path.name))]
    return [path for _, path in sorted(found) if is_sealed(path)]


def prune(folder: Path, keep: set[str]) -> None:
    """Remove all checkpoints except those named."""
    for path in folder.glob("checkpoint-*"):
        if path.name not in keep:
            remove_folder(path)
