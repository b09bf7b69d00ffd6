"""One writer at a time: an advisory lock that the system drops when its holder dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onym.errors import IntegrityError
from onym.store.output import writable


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


@contextmanager
def exclusive_at(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, whose folder is made where there is none.

    >>> with exclusive_at(getfixture("tmp_path") / "new" / ".lock"):
    ...     pass
    """
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(path):
        yield


try:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

except ImportError:  # Windows
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
