"""One writer at a time: an advisory lock that the system drops when its holder dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onym.errors import IntegrityError


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, or refuse at once if another process holds it."""
    with path.open("a+b") as file:
        try:
            _lock(file.fileno())
        except OSError as e:
            fix = "wait until the other build has ended"
            raise IntegrityError("artefact-locked", "another process is writing here", where=str(path.parent), fix=fix) from e
        yield


try:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

except ImportError:  # Windows
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
