"""Writing a file or a folder for a person: complete under its name, or not there at all, and never over another by accident.

Whether that can succeed is told before the work: `require_file`, `require_folder`, `require_artefact`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from onym.errors import ConfigError, format_id
from onym.store.hidden import make_folder, make_hidden, remove_left, set_aside

STDOUT = Path("-")
"""The output that is no file: standard output."""
_OTHERS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


def require_file(path: Path, *, force: bool = False, may_stream: bool = False) -> None:
    """Refuse a file that could not be written: one that exists, unless forced, or that is none, or in a folder without rights.

    >>> require_file(Path("/dev/null"), force=True)
    Traceback (most recent call last):
    onym.errors.ConfigError: [output-kind] a device is never written over...
    """
    if path == STDOUT and may_stream:
        _require_stdout()
        return
    mode = _mode(path, "this")
    if stat.S_ISDIR(mode):
        raise ConfigError("output-exists", "a folder has the name of the file", where=str(path), fix="name a file")
    if mode and not force:
        raise ConfigError("output-exists", "the file exists", where=str(path), fix="name another, or add --force")


def require_folder(path: Path, *, force: bool = False) -> None:
    """Refuse a folder that could not be written; an empty one may be filled, and another replaced by force.

    >>> require_folder(Path("-"))
    Traceback (most recent call last):
    onym.errors.ConfigError: [output-stdout] a folder cannot be written to standard output...
    """
    mode = _mode(path, "a folder")
    if stat.S_ISREG(mode):
        raise ConfigError("output-exists", "a file has the name of the folder", where=str(path), fix="name another")
    if mode and not force and any(path.iterdir()):
        raise ConfigError("output-exists", "the folder exists", where=str(path), fix="name another, or add --force")


def require_artefact(path: Path) -> None:
    """Refuse a folder that an artefact cannot be published in: one that holds other things.

    >>> (getfixture("tmp_path") / "thesis.doc").touch()
    >>> require_artefact(getfixture("tmp_path"))
    Traceback (most recent call last):
    onym.errors.ConfigError: [output-exists] the folder holds something else...
    """
    if path.is_dir():  # also by a link: what is in it is written, and the link stays
        if any(path.iterdir()) and not (path / ".lock").exists():
            fix = "name an empty or a new folder"
            raise ConfigError("output-exists", "the folder holds something else", where=str(path), fix=fix)
        _require_rights(path)
    elif stat.S_ISREG(_mode(path, "a folder")):
        raise ConfigError("output-exists", "a file stands where the artefact should go", where=str(path))


def _mode(path: Path, what: str) -> int:
    """Return what is there, 0 for nothing; refuse what is never written over, and a folder that nothing can be made in."""
    if path == STDOUT:
        raise ConfigError("output-stdout", f"{what} cannot be written to standard output", fix="name a file or a folder")
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):  # nothing; or it is told by what can be seen of the folders above
        mode = 0
    if other := _OTHERS.get(stat.S_IFMT(mode)):
        fix = "name a regular file or a new folder; - is standard output"
        raise ConfigError("output-kind", f"{other} is never written over", where=str(path), fix=fix)
    if path.name in ("", "..") or "\x00" in path.name:
        raise ConfigError("output-failed", "this is no name for an output", where=str(path), fix="name another")
    _require_rights(path.parent)
    return mode


def _require_rights(folder: Path) -> None:
    """Refuse a folder that may not be written, or, where there is none, cannot be made."""
    nearest = next((each for each in (folder, *folder.parents) if os.path.lexists(each)), Path())
    if not nearest.is_dir():
        raise ConfigError("output-failed", "this is no folder", where=str(nearest), fix="name another folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ConfigError("output-failed", "the folder may not be written", where=str(nearest), fix="name another folder")


def _require_stdout() -> None:
    if getattr(sys.stdout, "buffer", None) is None:
        raise ConfigError("output-failed", "standard output is closed", fix="name a file")


@contextmanager
def whole_file(path: Path, *, force: bool = False) -> Iterator[BinaryIO]:
    """Write to a hidden file in the same folder as `path`; it takes that name when the block ends without an error.

    Where it cannot be written, for want of space or of a right, that is a `ConfigError`. What killed runs left is removed. The
    path `-` is standard output, which is written at once.

    >>> import pathlib, tempfile
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "out.txt"
    >>> with whole_file(target) as file:
    ...     _ = file.write(b"whole")
    >>> target.read_bytes()
    b'whole'
    """
    remove_left(path)
    require_file(path, force=force, may_stream=True)
    with writable(path):
        if path == STDOUT:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        make_folder(path.parent)
        with make_hidden(path) as new:
            with new.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        sync_folder(path.parent)


@contextmanager
def whole_path(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Give the path of a hidden file, for a library that writes by its own means; it takes the name of `path` at the end.

    >>> target = getfixture("tmp_path") / "out.txt"
    >>> with whole_path(target) as new:
    ...     _ = new.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    remove_left(path)
    require_file(path, force=force)
    with writable(path):
        make_folder(path.parent)
        with make_hidden(path) as new:
            yield new
            with new.open("rb") as file:
                os.fsync(file.fileno())
            new.replace(path)
        sync_folder(path.parent)


def new_folder(parent: Path, prefix: str) -> Path:
    """Make a new folder, whose name begins with `prefix`, with the rights that the system gives to new folders.

    >>> new_folder(getfixture("tmp_path"), ".stage-").name.startswith(".stage-")
    True
    """
    folder = parent / f"{prefix}{secrets.token_hex(8)}"
    folder.mkdir()
    return folder


class Folder:
    """A folder being written: its files are new ones, synced when they are closed."""

    def __init__(self, stage: Path) -> None:
        self._stage = stage

    @property
    def path(self) -> Path:
        """Where it is being written, for a library that writes by its own means."""
        return self._stage

    def inner(self, name: str) -> Folder:
        """Return a folder of that name inside this one."""
        _require_name(name)
        (self._stage / name).mkdir(exist_ok=True)
        return Folder(self._stage / name)

    def write(self, name: str, data: bytes) -> None:
        """Write a new file; where its name has slashes, into folders inside this one."""
        *folders, last = name.split("/")
        folder = self
        for each in folders:
            folder = folder.inner(each)
        with folder.file(last) as file:
            file.write(data)

    @contextmanager
    def file(self, name: str = "") -> Iterator[BinaryIO]:
        """Open a new file of that name."""
        _require_name(name)
        if (self._stage / name).exists():
            what = f"two files would be named {format_id(name)}"
            raise ConfigError("output-exists", what, fix="give the documents ids of their own")
        with (self._stage / name).open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())


def _require_name(name: str) -> None:
    if not name or name in (".", "..") or Path(name).name != name or "\x00" in name or "\\" in name:
        raise ConfigError("output-failed", f"{format_id(name)} is no name for a file")


@contextmanager
def whole_folder(path: Path, *, force: bool = False) -> Iterator[Folder]:
    """Write to a hidden folder next to `path`; it takes that name when the block ends without an error.

    With `force` it replaces a folder that holds nothing but files of the same kinds.

    >>> import pathlib, tempfile
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "out"
    >>> with whole_folder(target) as folder, folder.file("a.txt") as file:
    ...     _ = file.write(b"whole")
    >>> [(path.name, path.read_bytes()) for path in target.iterdir()]
    [('a.txt', b'whole')]
    """
    remove_left(path)
    require_folder(path, force=force)
    with writable(path):
        make_folder(path.parent)
        with make_hidden(path, is_folder=True) as stage:
            yield Folder(stage)
            _open_up(stage)
            sync_tree(stage)
            if path.exists():
                _require_alike(path, stage)
                with set_aside(path):
                    stage.rename(path)
            else:
                stage.rename(path)
        sync_folder(path.parent)


def _open_up(stage: Path) -> None:
    """Give all that is in a new folder the rights of new files: some libraries make theirs readable by their owner alone."""
    rights = stat.S_IMODE(stage.stat().st_mode)
    for path in stage.rglob("*"):
        path.chmod(rights & 0o666 if path.is_file() else rights)


def remove_folder(folder: Path) -> None:
    """Remove a folder that this program wrote, and all that is in it."""
    shutil.rmtree(folder, ignore_errors=True)


def sync_tree(folder: Path) -> None:
    """Bring all that is in a folder to disk, and the folder itself: for what a library wrote by its own means."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        elif path.is_dir():
            sync_folder(path)
    sync_folder(folder)


def _require_alike(old: Path, new: Path) -> None:
    """Refuse to replace a folder that holds what its successor could not: a mistaken name must not cost a person's files."""
    kinds = {path.suffix for path in new.iterdir()}
    is_alike = old.is_dir() and all(path.is_file() and path.suffix in kinds for path in old.iterdir())
    if not is_alike:
        what = "the folder holds other things than what would replace it"
        raise ConfigError("output-exists", what, where=str(old), fix="name another folder")


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turn what the system refuses into an error of ours."""
    try:
        yield
    except BrokenPipeError:  # the reader of standard output has had enough
        raise
    except OSError as e:
        what = f"cannot be written: {e.strerror or e}"
        raise ConfigError("output-failed", what, where=str(path), fix="free space, or name another folder") from e


def sync_folder(folder: Path) -> None:
    """Make the folder's entries survive a power cut; a system without folders to open does so by itself."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_CHUNK = 16 * 1024 * 1024


def copy_folder(source: Path, dest: Path) -> None:
    """Copy a folder to a name that is not there yet.

    >>> folder = getfixture("tmp_path")
    >>> (folder / "one").mkdir()
    >>> _ = (folder / "one" / "a.txt").write_text("a")
    >>> copy_folder(folder / "one", folder / "new" / "two")
    >>> (folder / "new" / "two" / "a.txt").read_text()
    'a'
    """
    remove_left(dest)
    with writable(dest):
        dest.parent.mkdir(parents=True, exist_ok=True)
        with make_hidden(dest, is_folder=True) as stage:
            shutil.copytree(source, stage, dirs_exist_ok=True, copy_function=shutil.copyfile)
            sync_tree(stage)
            stage.rename(dest)
        sync_folder(dest.parent)


def copy_file(source: Path, dest: Path) -> None:
    """Copy the bytes of a file to a name that is not there yet.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "a.txt").write_text("a")
    >>> copy_file(folder / "a.txt", folder / "new" / "b.txt")
    >>> (folder / "new" / "b.txt").read_text()
    'a'
    """
    with source.open("rb") as data, whole_file(dest) as file:
        shutil.copyfileobj(data, file, _CHUNK)


def move_folder(source: Path, dest: Path) -> None:
    """Give a folder another name on the same disk. A folder that has that name gives it up, and is removed.

    >>> folder = getfixture("tmp_path")
    >>> for name in ("old", "new"):
    ...     (folder / name).mkdir()
    ...     (folder / name / f"{name}.txt").touch()
    >>> move_folder(folder / "new", folder / "old")
    >>> [path.name for path in sorted(folder.rglob("*"))]
    ['old', 'new.txt']
    """
    remove_left(dest)
    with writable(dest):
        dest.parent.mkdir(parents=True, exist_ok=True)
        if dest.exists():
            with set_aside(dest):
                source.rename(dest)
        else:
            source.rename(dest)
        sync_folder(dest.parent)
