"""Digests of the files of models: each file is hashed once on a machine, and again only where it was touched.

Files of models are large, and several things are named by them: the weights, the folder, an index. All of them ask here.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

from onym.errors import InputError
from onym.store.cache import file_state, read_note, write_note
from onym.store.files.regular import open_regular

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
        digest = _cached_digest(path, state)
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


def _cached_digest(path: Path, state: list[int]) -> str | None:
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
