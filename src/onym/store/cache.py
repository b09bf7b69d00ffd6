"""The cache directory, safe to delete, and digests of files that are remembered in it."""

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


_KIND = "digests"
_NOTED = 1_000_000  # bytes: a smaller file is hashed sooner than a note on it is written to disk
_SETTLED = 100_000_000  # nanoseconds: what was changed just now may change again without its times telling

_known: dict[Path, list[Any]] = {}  # as in a note: a file's state, and its digest then
_has_notes = True


def ignore_notes() -> None:
    """Let this process hash every file itself, once from now on, whatever was noted before: a disk may change a byte alone."""
    global _has_notes  # noqa: PLW0603 - it is said once, at the start of a run
    _has_notes = False
    _known.clear()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's content, remembered for as long as the file is not touched.

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
        raise InputError("input-unreadable", f"cannot be read: {e.strerror or e}", where=str(path)) from e
    return digest


def hash_file(path: Path) -> str:
    """Read a file and return its SHA-256. All hashing of models is done by this function: wrap it to see what is hashed."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _look_up_digest(path: Path, state: list[int]) -> str | None:
    """Return the digest that this process or this machine knows of a file in this state."""
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
"""`once`: on each machine once, and again where a file was touched. `full`: again at each opening, whatever is remembered."""
