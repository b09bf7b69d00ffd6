"""The cache directory, and notes on files in it: what was found out about them once on this machine. It is safe to delete."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from onym.errors import OnymError
from onym.store.output import whole_file


def cache_folder() -> Path:
    """Return the cache directory: `ONYM_CACHE`, else `~/.cache/onym`."""
    return Path(os.environ.get("ONYM_CACHE") or Path.home() / ".cache" / "onym")


def file_state(status: os.stat_result) -> list[int]:
    """Return what changes whenever a file is written, moved away or replaced: a note on it counts until then.

    >>> len(file_state(Path(getfixture("tmp_path")).stat()))
    5
    """
    return [status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino, status.st_ctime_ns]


def write_note(kind: str, path: Path, value: Any) -> None:
    """Keep a note on a file or a folder; does nothing where no note can be kept.

    >>> write_note("colours", Path("sky"), ["blue"])
    >>> read_note("colours", Path("sky")), read_note("colours", Path("sea"))
    (['blue'], None)
    """
    with suppress(OSError, OnymError), whole_file(_note(kind, path), force=True) as file:
        file.write(json.dumps(value).encode())


def read_note(kind: str, path: Path) -> Any:
    """Return the note of that kind on a file or a folder; None where there is none."""
    try:
        return json.loads(_note(kind, path).read_bytes())
    except (OSError, ValueError):
        return None


def _note(kind: str, path: Path) -> Path:
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    return cache_folder() / kind / f"{name}.json"
