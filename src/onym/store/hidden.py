"""What is being written has a hidden name beside its place: its writer holds it; the next removes what a killed one left.

    .NAME.<16 hex digits>.onym-new      a file or a folder that will take NAME
    .NAME.<16 hex digits>.onym-old      a folder that is giving NAME to another

Its writer holds an advisory lock on it, which the system drops when the process ends, however it ends. What has such a name and
is not locked was left by a run that was killed. Where a file system has no locks, nothing is removed.
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
except ImportError:  # Windows: nothing is locked there, and nothing is removed
    _locks = None

_NEW, _OLD = "onym-new", "onym-old"
_LEFT = re.compile(rf"\..*\.[0-9a-f]{{16}}\.{_NEW}")
_is_private: ContextVar[bool] = ContextVar("_is_private", default=False)


@contextmanager
def owner_only(is_private: bool = True) -> Iterator[None]:
    """Give every file and folder that the block writes to its owner alone: modes 0600 and 0700, whatever the umask is.

    Unlike a umask, it concerns this thread alone.

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
    """Make a folder and those above it, where they are missing.

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
    """Make a hidden file or folder beside `path`, with the rights of new ones; if it is still there at the end, it is removed.

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
    """Give the folder `path` a hidden name while another takes its own; it has its name back if that fails."""
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
    """Remove what runs that were killed left beside `path`; a folder that had been set aside has its name back.

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
    """Remove what runs that were killed left in a folder, whatever it was to be named. What somebody holds stays.

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
    """Make the file or folder and hold it; a run that cleans up may take a new one for a left one until it is locked."""
    while True:
        new = _name(path, _NEW)
        if is_folder:
            new.mkdir(0o700 if _is_private.get() else 0o777)
        else:
            os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if _is_private.get() else 0o666))
        with suppress(FileNotFoundError, BlockingIOError):
            return new, hold(new)


def hold(path: Path, *, is_shared: bool = False) -> int | None:
    """Lock a file or a folder; None where the file system has no locks. One that another holds is a `BlockingIOError`.

    A shared lock excludes only those who lock it alone.
    """
    if _locks is None:
        return None
    try:
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError:  # a link, or a file that may not be read
        return None
    try:
        _locks.flock(lock, (_locks.LOCK_SH if is_shared else _locks.LOCK_EX) | _locks.LOCK_NB)
        if not os.path.samestat(os.fstat(lock), path.lstat()):  # gone, or another, since it was opened
            raise FileNotFoundError(path)
    except (BlockingIOError, FileNotFoundError):
        os.close(lock)
        raise
    except OSError:
        os.close(lock)
        return None
    return lock


def release(lock: int | None) -> None:
    """Give up a lock."""
    if lock is not None:
        os.close(lock)


def _remove(path: Path) -> None:
    """Remove a file or a folder, if it is there; a name that is anything else is not ours."""
    with suppress(OSError):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            shutil.rmtree(path, ignore_errors=True)
        elif stat.S_ISREG(mode):
            path.unlink()


def _name(path: Path, kind: str) -> Path:
    # Unlike those of `tempfile`, files and folders of this name are made with the usual rights: a umask cannot be read without
    # changing it for the whole process.
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.{kind}")


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give an empty folder of one's own.

    >>> with scratch_folder() as folder:
    ...     list(folder.iterdir())
    []
    """
    with TemporaryDirectory(prefix="onym-") as folder:
        yield Path(folder)
