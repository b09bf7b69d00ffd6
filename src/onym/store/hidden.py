"""Hidden temp files for atomic writes: locked while in use; leftovers of killed processes are removed by the next run.

    .NAME.<16 hex digits>.onym-new      a file or folder that will be renamed to NAME
    .NAME.<16 hex digits>.onym-old      a folder that is being replaced by a new NAME

The writer holds an advisory lock on the file or folder, which the system releases when the process ends. A file or
folder without a lock was left by a killed process. On file systems without locks, nothing is removed.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onym.store.files.stream import is_there

_locks: Any
try:
    import fcntl as _locks
except ImportError:  # Windows has no such locks, so leftover temp files are not removed
    _locks = None

_NEW, _OLD = "onym-new", "onym-old"
_LEFT = re.compile(rf"\..*\.[0-9a-f]{{16}}\.{_NEW}")
_is_private: ContextVar[bool] = ContextVar("_is_private", default=False)


@contextmanager
def owner_only(is_private: bool = True) -> Iterator[None]:
    """Create all files and folders in the block with modes 0600 and 0700, whatever the umask is.

    Unlike a changed umask, this affects only the current thread.

    >>> target = getfixture("tmp_path") / "out.txt"
    >>> with owner_only(), make_hidden(target) as new:
    ...     oct(new.stat().st_mode & 0o777)
    '0o600'
    """
    token = _is_private.set(is_private)
    try:
        yield
    finally:
        _is_private.reset(token)


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents.

    >>> folder = getfixture("tmp_path") / "runs" / "1"
    >>> with owner_only():
    ...     make_folder(folder)
    >>> [oct(each.stat().st_mode & 0o777) for each in (folder.parent, folder)]
    ['0o700', '0o700']
    """
    if not _is_private.get():
        folder.mkdir(parents=True, exist_ok=True)
        return
    for each in (*reversed(folder.parents), folder):
        if not each.is_dir():
            each.mkdir(0o700, exist_ok=True)


@contextmanager
def make_hidden(path: Path, *, is_folder: bool = False) -> Iterator[Path]:
    """Create a locked hidden file or folder next to `path`. Remove it at the end of the block, if the block did not rename it.

    >>> target = getfixture("tmp_path") / "out.txt"
    >>> with make_hidden(target) as new:
    ...     new.name.startswith(".out.txt."), new.exists()
    (True, True)
    >>> new.exists()
    False
    """
    new, lock = _make_locked(path, is_folder=is_folder)
    try:
        yield new
    finally:
        _remove(new)
        release(lock)


@contextmanager
def set_aside(path: Path) -> Iterator[None]:
    """Rename the folder `path` to a hidden name while the block replaces it; rename it back if the block fails."""
    old = _name(path, _OLD)
    lock = hold(path)
    try:
        path.rename(old)
        yield
    except BaseException:
        with suppress(OSError):
            old.rename(path)
        raise
    else:
        _remove(old)
    finally:
        release(lock)


def remove_left(path: Path) -> None:
    """Remove temp files that killed processes left next to `path`. If `path` is missing, undo an interrupted `set_aside`.

    >>> target = getfixture("tmp_path") / "out.txt"
    >>> left = target.with_name(".out.txt.0123456789abcdef.onym-new")
    >>> left.touch()
    >>> remove_left(target)
    >>> left.exists()
    False
    """
    own = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{16}}\.({_NEW}|{_OLD})")
    with suppress(OSError):
        for left in path.parent.iterdir():
            if found := own.fullmatch(left.name):
                with suppress(OSError):
                    _remove_if_left(left, path if found[1] == _OLD else None)


def remove_all_left(folder: Path) -> None:
    """Remove all temp files that killed processes left in a folder. Keep locked files, because they are in use.

    >>> left = getfixture("tmp_path") / ".out.txt.0123456789abcdef.onym-new"
    >>> left.touch()
    >>> remove_all_left(left.parent)
    >>> left.exists()
    False
    """
    with suppress(OSError):
        for left in folder.iterdir():
            if _LEFT.fullmatch(left.name):
                with suppress(OSError):
                    _remove_if_left(left, None)


def _remove_if_left(found: Path, target: Path | None) -> None:
    lock = hold(found)
    if lock is None:
        return
    try:
        if target is not None and not is_there(target):
            found.rename(target)
        else:
            _remove(found)
    finally:
        release(lock)


def _make_locked(path: Path, *, is_folder: bool) -> tuple[Path, int | None]:
    """Create and lock the file or folder; retry if another process removed it as a leftover before it was locked."""
    while True:
        new = _name(path, _NEW)
        if is_folder:
            new.mkdir(0o700 if _is_private.get() else 0o777)
        else:
            os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if _is_private.get() else 0o666))
        with suppress(FileNotFoundError, BlockingIOError):
            return new, hold(new)


def hold(path: Path, *, is_shared: bool = False) -> int | None:
    """Lock a file or folder; return None if the file system has no locks. Raise BlockingIOError if already locked.

    A shared lock conflicts only with exclusive locks.
    """
    if _locks is None:
        return None
    try:
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError:  # a symlink, or an unreadable file
        return None
    try:
        _locks.flock(lock, (_locks.LOCK_SH if is_shared else _locks.LOCK_EX) | _locks.LOCK_NB)
        if not os.path.samestat(os.fstat(lock), path.lstat()):  # the file was removed or replaced since it was opened
            raise FileNotFoundError(path)
    except (BlockingIOError, FileNotFoundError):
        os.close(lock)
        raise
    except OSError:
        os.close(lock)
        return None
    return lock


def release(lock: int | None) -> None:
    """Release a lock returned by `hold`."""
    if lock is not None:
        os.close(lock)


def _remove(path: Path) -> None:
    """Remove a regular file or a folder, if it exists. Do not remove anything else, such as a symlink."""
    with suppress(OSError):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            shutil.rmtree(path, ignore_errors=True)
        elif stat.S_ISREG(mode):
            path.unlink()


def _name(path: Path, kind: str) -> Path:
    # `tempfile` is not used: it creates files with mode 0600. To set the usual mode later, we would need the umask, and
    # reading the umask changes it for the whole process.
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.{kind}")


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create an empty temporary folder and remove it when the block ends.

    >>> with scratch_folder() as folder:
    ...     list(folder.iterdir())
    []
    """
    with TemporaryDirectory(prefix="onym-") as folder:
        yield Path(folder)
