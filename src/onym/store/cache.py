"""The cache directory, and notes on files in it: what was found out about them once on this machine. It is safe to delete."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from onym.errors import ConfigError, OnymError
from onym.store.output import whole_file


def cache_folder() -> Path:
    """Return the cache directory: `ONYM_CACHE`, else `~/.cache/onym`."""
    named = os.environ.get("ONYM_CACHE")
    return Path(named) if named else default_folder()


def default_folder() -> Path:
    """Return the cache directory of a person for whom none is named; without a home it is in the system's temporary folder."""
    try:
        return Path.home() / ".cache" / "onym"
    except RuntimeError:  # a user without an entry in the system's list, as containers have them
        return _own_temporary_folder()


def _own_temporary_folder() -> Path:
    """Return the folder of this user in the temporary one. Others write there too: one that is not ours alone is refused."""
    fix = "set ONYM_CACHE to a folder of your own"
    try:
        folder = Path(tempfile.gettempdir()) / f"onym-{os.geteuid()}"
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        status = folder.lstat()
    except OSError as e:
        raise ConfigError("cache-folder", "there is neither a home nor a temporary folder for the cache", fix=fix) from e
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise ConfigError("cache-folder", "others may write to the cache's folder", where=str(folder), fix=fix)
    return folder


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
    except (OSError, ValueError, OnymError):
        return None


def _note(kind: str, path: Path) -> Path:
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    return cache_folder() / kind / f"{name}.json"
