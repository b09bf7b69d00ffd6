"""Writes output files and folders atomically, and never overwrites anything by accident.

`require_file`, `require_folder` and `require_artefact` check before the work starts whether an output can be written.
"""

from __future__ import annotations

import io
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from onym.errors import ConfigError, format_id
from onym.store.hidden import make_folder, make_hidden, remove_left, set_aside

STDOUT = Path("-")
"""The output path that means standard output."""
_OTHERS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


def require_file(path: Path, *, force: bool = False, may_stream: bool = False) -> None:
    """Raise ConfigError if the output is not a regular file, its folder is not writable, or it exists and `force` is not set.

    >>> require_file(Path("/dev/null"), force=True)
    Traceback (most recent call last):
    onym.errors.ConfigError: [output-kind] the output is a device, which is never overwritten...
    """
    if path == STDOUT and may_stream:
        _require_stdout()
        return
    mode = _mode(path, "this")
    if stat.S_ISDIR(mode):
        raise ConfigError("output-exists", "the output is a folder, not a file", where=str(path), fix="give the path of a file")
    if mode and not force:
        raise ConfigError("output-exists", "the file exists", where=str(path), fix="use another name, or add --force")


def require_distinct(outputs: Iterable[Path], inputs: Iterable[Path] = ()) -> None:
    """Raise ConfigError if two outputs are one file, or an output is an input, whatever their paths look like.

    >>> require_distinct([Path("a.tsv"), Path("./a.tsv")])
    Traceback (most recent call last):
    onym.errors.ConfigError: [output-exists] an output is also an input or another output...
    """
    taken = [Path(os.path.realpath(path)) for path in inputs]
    for path in outputs:
        real = Path(os.path.realpath(path))
        if any(real == other or (real.exists() and other.exists() and real.samefile(other)) for other in taken):
            what = "an output is also an input or another output, which would be lost"
            raise ConfigError("output-exists", what, where=str(path), fix="give each output a path of its own")
        taken.append(real)


def require_folder(path: Path, *, force: bool = False) -> None:
    """Raise ConfigError if the output folder cannot be written, or if it is not empty and `force` is not set.

    >>> require_folder(Path("-"))
    Traceback (most recent call last):
    onym.errors.ConfigError: [output-stdout] a folder cannot be written to standard output...
    """
    mode = _mode(path, "a folder")
    if stat.S_ISREG(mode):
        raise ConfigError("output-exists", "the output is a file, not a folder", where=str(path), fix="use another name")
    if mode and not force and any(path.iterdir()):
        raise ConfigError("output-exists", "the folder exists", where=str(path), fix="use another name, or add --force")


def require_artefact(path: Path) -> None:
    """Raise ConfigError if the folder is not writable or contains anything other than an artefact.

    >>> (getfixture("tmp_path") / "thesis.doc").touch()
    >>> require_artefact(getfixture("tmp_path"))
    Traceback (most recent call last):
    onym.errors.ConfigError: [output-exists] the folder contains other files...
    """
    if path.is_dir():  # a folder, or a link to a folder: the artefact is written into the folder
        if any(path.iterdir()) and not (path / ".lock").exists():
            fix = "use an empty or a new folder"
            raise ConfigError("output-exists", "the folder contains other files", where=str(path), fix=fix)
        _require_rights(path)
    elif stat.S_ISREG(_mode(path, "a folder")):
        raise ConfigError("output-exists", "the output is a file, not a folder", where=str(path), fix="use another name")


def _mode(path: Path, what: str) -> int:
    """Return the file mode of the output, or 0 if it is missing. Reject devices, pipes, links and unwritable folders."""
    if path == STDOUT:
        raise ConfigError(
            "output-stdout", f"{what} cannot be written to standard output", fix="give the path of a file or a folder"
        )
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):  # the output is missing, or its folder is unreadable, which `_require_rights` reports
        mode = 0
    if other := _OTHERS.get(stat.S_IFMT(mode)):
        fix = "use a regular file or a new folder; - is standard output"
        raise ConfigError("output-kind", f"the output is {other}, which is never overwritten", where=str(path), fix=fix)
    if path.name in ("", "..") or "\x00" in path.name:
        raise ConfigError("output-failed", "invalid output name", where=str(path), fix="use another name")
    _require_rights(path.parent)
    return mode


def _require_rights(folder: Path) -> None:
    """Raise ConfigError if the folder, or its nearest existing parent, is not writable."""
    nearest = next((each for each in (folder, *folder.parents) if os.path.lexists(each)), Path())
    if not nearest.is_dir():
        raise ConfigError("output-failed", "not a folder", where=str(nearest), fix="use another folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ConfigError("output-failed", "the folder is not writable", where=str(nearest), fix="use another folder")


def _require_stdout() -> None:
    if getattr(sys.stdout, "buffer", None) is None:
        raise ConfigError("output-failed", "standard output is closed", fix="give the path of a file")


@contextmanager
def whole_file(path: Path, *, force: bool = False) -> Iterator[BinaryIO]:
    """Write a file atomically: a hidden temp file is renamed to `path` when the block ends without an error.

    Raises ConfigError if the file cannot be written. Temp files of killed processes are removed. The path `-` means standard
    output, which is written directly.

    >>> import pathlib, tempfile
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "out.txt"
    >>> with whole_file(target) as file:
    ...     _ = file.write(b"whole")
    >>> target.read_bytes()
    b'whole'
    """
    if path != STDOUT:
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
    """Yield the path of a hidden temp file, for libraries that write the file themselves; rename it to `path` at the end.

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


CODECS = {".gz": "gzip", ".zst": "zstd"}
"""Codecs by file name ending."""


@contextmanager
def compress_into(file: BinaryIO, codec: str) -> Iterator[BinaryIO]:
    """Yield a file whose bytes are compressed into an open file; an empty codec yields the file itself.

    >>> import io
    >>> file = io.BytesIO()
    >>> with compress_into(file, "gzip") as packed:
    ...     _ = packed.write(b"fever")
    >>> file.getvalue()[:2]
    b'\\x1f\\x8b'
    """
    if not codec:
        yield file
        return
    import pyarrow as pa

    stream: Any = pa.CompressedOutputStream(pa.PythonFile(_KeepOpen(file), mode="w"), codec)
    with stream:
        yield stream


class _KeepOpen(io.RawIOBase):
    """A writable view of a file that leaves the file open when it is closed."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._file.write(data)


def copy_stream(source: BinaryIO | io.RawIOBase, dest: BinaryIO) -> None:
    """Copy the rest of an open file to another one."""
    shutil.copyfileobj(cast("BinaryIO", source), dest, _CHUNK)


def new_folder(parent: Path, prefix: str) -> Path:
    """Create a folder with a unique name that starts with `prefix`, and with the default permissions.

    >>> new_folder(getfixture("tmp_path"), ".stage-").name.startswith(".stage-")
    True
    """
    folder = parent / f"{prefix}{secrets.token_hex(8)}"
    folder.mkdir()
    return folder


class Folder:
    """A folder that is being written. Existing files cannot be overwritten. Files are synced to disk when they are closed."""

    def __init__(self, stage: Path) -> None:
        self._stage = stage

    @property
    def path(self) -> Path:
        """The path of the hidden folder, for libraries that write files themselves."""
        return self._stage

    def inner(self, name: str) -> Folder:
        """Return the subfolder with this name, created if needed."""
        _require_name(name)
        (self._stage / name).mkdir(exist_ok=True)
        return Folder(self._stage / name)

    def write(self, name: str, data: bytes) -> None:
        """Write a new file; if its name contains slashes, create the subfolders."""
        *folders, last = name.split("/")
        folder = self
        for each in folders:
            folder = folder.inner(each)
        with folder.file(last) as file:
            file.write(data)

    @contextmanager
    def file(self, name: str = "") -> Iterator[BinaryIO]:
        """Create a file for writing."""
        _require_name(name)
        if (self._stage / name).exists():
            what = f"two files would be named {format_id(name)}"
            raise ConfigError("output-exists", what, fix="give each document a unique id")
        with (self._stage / name).open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())


def _require_name(name: str) -> None:
    if not name or name in (".", "..") or Path(name).name != name or "\x00" in name or "\\" in name:
        raise ConfigError("output-failed", f"invalid file name: {format_id(name)}")


@contextmanager
def whole_folder(path: Path, *, force: bool = False) -> Iterator[Folder]:
    """Write a folder atomically: a hidden folder is renamed to `path` when the block ends without an error.

    With `force`, an existing folder is replaced, but only if all its files have the same extensions as the new files.

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
            _move(stage, path)


def _open_up(stage: Path) -> None:
    """Set default permissions on everything in a new folder, because some libraries create files with mode 0600."""
    rights = stat.S_IMODE(stage.stat().st_mode)
    for path in stage.rglob("*"):
        path.chmod(rights & 0o666 if path.is_file() else rights)


def remove_folder(folder: Path) -> None:
    """Remove a folder that Onym wrote, with its content."""
    shutil.rmtree(folder, ignore_errors=True)


def sync_tree(folder: Path) -> None:
    """Sync a folder and everything in it to disk, for files that a library wrote itself."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        elif path.is_dir():
            sync_folder(path)
    sync_folder(folder)


def _require_alike(old: Path, new: Path) -> None:
    """Raise if the old folder contains other kinds of files, so that a mistyped path does not delete the user's files."""
    kinds = {path.suffix for path in new.iterdir()}
    is_alike = old.is_dir() and all(path.is_file() and path.suffix in kinds for path in old.iterdir())
    if not is_alike:
        what = "the folder contains files of other kinds than the new one, so it is not replaced"
        raise ConfigError("output-exists", what, where=str(old), fix="use another folder")


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Convert an OSError to a ConfigError, except BrokenPipeError."""
    try:
        yield
    except BrokenPipeError:  # the program that reads standard output has closed the pipe
        raise
    except OSError as e:
        what = f"cannot be written: {e.strerror or e}"
        raise ConfigError("output-failed", what, where=str(path), fix="free disk space, or use another folder") from e


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries to disk, so that they survive a power failure; no-op on systems without O_DIRECTORY."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_CHUNK = 16 * 1024 * 1024


def copy_folder(source: Path, dest: Path) -> None:
    """Copy a folder atomically to a path that does not exist yet.

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
    """Copy the content of a file atomically to a path that does not exist yet.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "a.txt").write_text("a")
    >>> copy_file(folder / "a.txt", folder / "new" / "b.txt")
    >>> (folder / "new" / "b.txt").read_text()
    'a'
    """
    with source.open("rb") as data, whole_file(dest) as file:
        copy_stream(data, file)


def move_folder(source: Path, dest: Path) -> None:
    """Move a folder on the same file system, replacing an existing folder `dest`.

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
        _move(source, dest)


@contextmanager
def whole_set(path: Path, *beside: Path) -> Iterator[list[Path]]:
    """Write an output and the files that describe it. Yield a path for each in a hidden folder; publish them at the end.

    Before the output is replaced, the earlier files that describe it are removed; the new ones appear after it, in their order.
    So they never describe another output, and an output without the last of them was not finished. Each path of the block that
    is not written stays missing.

    >>> output, table = (getfixture("tmp_path") / name for name in ("out", "out.audit"))
    >>> _ = table.write_text("earlier")
    >>> with whole_set(output, table) as new:
    ...     _ = new[0].write_text("1"), new[1].write_text("2")
    >>> output.read_text(), table.read_text()
    ('1', '2')
    """
    paths = (path, *beside)
    with ExitStack() as stack:
        staged = []
        for each in paths:
            remove_left(each)
            with writable(each):
                make_folder(each.parent)
                staged.append(stack.enter_context(make_hidden(each, is_folder=True)) / each.name)
        yield staged
        if staged[0].is_dir() and path.exists():
            _require_alike(path, staged[0])
        for each in reversed(beside):
            with writable(each):
                each.unlink(missing_ok=True)
                sync_folder(each.parent)
        for new, each in zip(staged, paths, strict=True):
            if new.exists():
                with writable(each):
                    _move(new, each)


def _move(new: Path, path: Path) -> None:
    """Rename a file or folder on the same file system to `path`, and sync. A file replaces a file, a folder a folder."""
    if new.is_dir() and path.exists():
        with set_aside(path):
            new.rename(path)
    else:
        new.replace(path)
    sync_folder(path.parent)
