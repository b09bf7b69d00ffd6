"""The cache directory, which is safe to delete, and the file digests cached in it."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from onym.errors import ConfigError, InputError, OnymError
from onym.store.files.stream import open_regular
from onym.store.output import whole_file


def cache_folder() -> Path:
    """Return the cache directory: `ONYM_CACHE`, else `~/.cache/onym`."""
    named = os.environ.get("ONYM_CACHE")
    return Path(named) if named else default_folder()


def default_folder() -> Path:
    """Return `~/.cache/onym`, or a folder in the system's temporary directory if there is no home directory."""
    try:
        return Path.home() / ".cache" / "onym"
    except RuntimeError:  # the user has no passwd entry, as in some containers
        return _own_temporary_folder()


def _own_temporary_folder() -> Path:
    """Return this user's folder in the shared temporary directory; reject it if other users can write to it."""
    fix = "set ONYM_CACHE to a folder that only you can write to"
    try:
        folder = Path(tempfile.gettempdir()) / f"onym-{os.geteuid()}"
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        status = folder.lstat()
    except OSError as e:
        raise ConfigError("cache-folder", "no home or temporary directory is available for the cache", fix=fix) from e
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise ConfigError("cache-folder", "the cache directory is writable by other users", where=str(folder), fix=fix)
    return folder


def file_state(status: os.stat_result) -> list[int]:
    """Return size, times, device and inode of a file. Cached values for the file are valid until one of them changes.

    >>> len(file_state(Path(getfixture("tmp_path")).stat()))
    5
    """
    return [status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino, status.st_ctime_ns]


def write_note(kind: str, path: Path, value: Any) -> None:
    """Cache a value for a file or folder; no-op if the cache is not writable.

    >>> write_note("colours", Path("sky"), ["blue"])
    >>> read_note("colours", Path("sky")), read_note("colours", Path("sea"))
    (['blue'], None)
    """
    with suppress(OSError, OnymError), whole_file(_note(kind, path), force=True) as file:
        file.write(json.dumps(value).encode())


def read_note(kind: str, path: Path) -> Any:
    """Return the cached value for a file or folder, or None if there is no cached value."""
    try:
        return json.loads(_note(kind, path).read_bytes())
    except (OSError, ValueError, OnymError):
        return None


def _note(kind: str, path: Path) -> Path:
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    return cache_folder() / kind / f"{name}.json"


_KIND = "digests"
_NOTED = 1_000_000  # minimum file size, in bytes, for a cached digest: hashing a smaller file is faster than writing the cache
_SETTLED = 100_000_000  # nanoseconds; if a file changed more recently, it may change again without a new timestamp

_known: dict[Path, list[Any]] = {}  # in-memory cache: for each file, its state and its digest in that state
_has_notes = True


def ignore_notes() -> None:
    """Ignore cached digests in this process and hash every file again, because a failing disk changes no timestamps."""
    global _has_notes  # noqa: PLW0603 - set once, at the start of a run
    _has_notes = False
    _known.clear()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, cached until the file is modified.

    >>> path = getfixture("tmp_path") / "config.json"
    >>> _ = path.write_text("{}")
    >>> file_digest(path)[:16]
    '44136fa355b3678a'
    """
    try:
        path = path.resolve(strict=True)
        state = file_state(path.stat())
        digest = _look_up_digest(path, state)
        if digest is None:
            digest = hash_file(path)
            if _is_settled(state) and file_state(path.stat()) == state:
                _remember(path, state, digest)
    except OSError as e:
        raise InputError("input-unreadable", f"the file cannot be read: {e.strerror or e}", where=str(path)) from e
    return digest


def hash_file(path: Path) -> str:
    """Hash a file without using the cache. Tests wrap this function to see which model files are hashed."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _look_up_digest(path: Path, state: list[int]) -> str | None:
    """Return the cached digest of a file, or None if no digest is cached for this state of the file."""
    known = _known.get(path) or (read_note(_KIND, path) if _has_notes and state[0] >= _NOTED else None)
    return known[1] if isinstance(known, list) and len(known) == 2 and known[0] == state else None


def _remember(path: Path, state: list[int], digest: str) -> None:
    _known[path] = [state, digest]
    if state[0] >= _NOTED:
        write_note(_KIND, path, _known[path])


def _is_settled(state: list[int]) -> bool:
    *_, changed = state
    return changed + _SETTLED < time.time_ns()


Verify = Literal["once", "full"]
"""`once`: verify once per machine, and again after a file was modified. `full`: verify at each opening."""
