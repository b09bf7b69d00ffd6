"""Artefacts: folders that appear whole or not at all.

    DIR/CURRENT             the name of the version that counts; replaced in one step
    DIR/<16 hex digits>/    a version, named by the digest of its manifest; never changed once it is there
    DIR/.stage-*/           what a build is writing; removed by the next build if its own was killed
    DIR/.lock               held by the one process that may write

Publishing: write to a stage, sync every file, rename the stage to its version, replace CURRENT, sync the folder. A reader
sees the old version or the new one. The version before the current one is kept for readers that are just opening it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError, IntegrityError, LimitError, OnymError
from onym.store.artefact import verified
from onym.store.artefact.arrays import Ragged, Strings, open_array, smallest_offsets
from onym.store.artefact.lock import exclusive
from onym.store.artefact.manifest import FileEntry, InputEntry, Manifest
from onym.store.files.regular import open_regular
from onym.store.files.source import InputFile
from onym.store.limits import DEFAULT_LIMITS
from onym.store.output import sync_folder, whole_file, writable

T = TypeVar("T")
_VERSION = re.compile(r"^[0-9a-f]{16}$")
_WRITE = 16 * 1024 * 1024


class Stage:
    """An artefact being written. Columns are hashed as they are written, so nothing is read back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, FileEntry] = {}

    def write_array(self, name: str, values: npt.NDArray[Any]) -> None:
        """Write a one-dimensional column as NAME.npy."""
        values = np.ascontiguousarray(values)
        values = values.astype(values.dtype.newbyteorder("<"), copy=False)
        with _HashedWriter(self._folder / f"{name}.npy") as file:
            np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(values))
            raw = memoryview(values.view(np.uint8)) if len(values) else memoryview(b"")  # type: ignore[arg-type]
            for start in range(0, len(raw), _WRITE):
                file.write(raw[start : start + _WRITE])
        self._files[f"{name}.npy"] = file.entry(dtype=values.dtype.str, length=len(values))

    def write_ragged(self, name: str, offsets: npt.NDArray[np.int64], values: npt.NDArray[Any]) -> None:
        """Write lists of numbers as NAME.offsets and NAME.values."""
        self.write_array(f"{name}.offsets", smallest_offsets(offsets))
        self.write_array(f"{name}.values", values)

    def write_strings(self, name: str, column: Strings) -> None:
        """Write strings as NAME.offsets and NAME.data."""
        self.write_array(f"{name}.offsets", column.offsets)
        self.write_array(f"{name}.data", column.data)

    def write_json(self, name: str, value: Any) -> None:
        """Write plain values, keys sorted, for people to read."""
        with _HashedWriter(self._folder / name) as file:
            file.write(json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False).encode() + b"\n")
        self._files[name] = file.entry()

    @contextmanager
    def file(self, name: str) -> Iterator[BinaryIO]:
        """Open a new file that is no column, to be written from its beginning to its end."""
        with _HashedWriter(self._folder / name) as file:
            yield cast("BinaryIO", file)
        self._files[name] = file.entry()

    def publish(self, dest: Path, kind: str, version: int, record: Record) -> Manifest:
        """Seal the stage and make it the current version."""
        manifest = Manifest(
            kind=kind,
            format=version,
            config=record.config,
            inputs=tuple(record.inputs),
            counts=record.counts,
            files=self._files,
        )
        data = manifest.to_bytes()
        if len(data) > DEFAULT_LIMITS.manifest_bytes:
            what = f"the manifest is larger than {DEFAULT_LIMITS.manifest_bytes:,} bytes"
            raise LimitError("limit-manifest", what, where=str(dest), fix="make it of fewer files")
        with _HashedWriter(self._folder / "manifest.json") as file:
            file.write(data)
        sync_folder(self._folder)
        self._make_current(dest, manifest)
        return manifest

    def _make_current(self, dest: Path, manifest: Manifest) -> None:
        final, previous = dest / manifest.digest()[:16], _current_version(dest)
        if final.exists() and _problems(final, manifest):
            shutil.rmtree(final)  # a damaged copy of this very version: mended by the new one
        is_new = not final.exists()
        try:
            if is_new:
                self._folder.rename(final)
            sync_folder(dest)
            verified.remember(final, manifest)
            with whole_file(dest / "CURRENT", force=True) as pointer:
                pointer.write(final.name.encode() + b"\n")
        except BaseException:
            if is_new and _current_version(dest) != final.name:
                shutil.rmtree(final, ignore_errors=True)
            raise
        _prune(dest, keep={final.name, previous})


class Record:
    """What the builder tells about an artefact: configuration, inputs, counts."""

    def __init__(self, config: dict[str, Any], inputs: list[InputEntry], counts: dict[str, int]) -> None:
        self.config, self.inputs, self.counts = config, inputs, counts


class _HashedWriter:
    """A new file, synced to disk when closed."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)
        self._sha256 = hashlib.sha256()
        self._bytes = 0

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data)
        while view:
            written = self._file.write(view)
            self._sha256.update(view[:written])
            self._bytes += written
            view = view[written:]
        return len(data)

    def entry(self, dtype: str | None = None, length: int | None = None) -> FileEntry:
        return FileEntry(bytes=self._bytes, sha256=self._sha256.hexdigest(), dtype=dtype, length=length)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        with self._file:
            if error is None:
                os.fsync(self._file.fileno())


@contextmanager
def staging(dest: Path) -> Iterator[Stage]:
    """Hold the artefact at `dest` for writing; what is not published is removed."""
    if dest.exists() and not dest.is_dir():
        raise ConfigError("output-exists", "a file stands where the artefact should go", where=str(dest))
    if dest.is_dir() and not (dest / ".lock").exists() and any(dest.iterdir()):
        fix = "name an empty or a new folder"
        raise ConfigError("output-exists", "the folder holds something else", where=str(dest), fix=fix)
    with writable(dest):
        dest.mkdir(parents=True, exist_ok=True)
        with exclusive(dest / ".lock"):
            for left in dest.glob(".stage-*"):
                shutil.rmtree(left, ignore_errors=True)
            for left in dest.glob(".CURRENT.*"):
                left.unlink(missing_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=".stage-", dir=dest))
            try:
                folder.chmod(0o755)
                yield Stage(folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)


class Artefact:
    """An artefact opened for reading: its manifest, and its columns by memory map.

    All columns are mapped and all other files are read at once: so they can be used whatever is published afterwards.
    """

    def __init__(self, folder: Path, manifest: Manifest, *, is_new_here: bool) -> None:
        self.folder, self.manifest = folder, manifest
        self.digest = folder.name
        self.is_new_here = is_new_here  # until this machine has verified it; the reader then checks its structure too
        self._columns = {
            name.removesuffix(".npy"): open_array(folder / name, entry.dtype, entry.length)
            for name, entry in manifest.files.items()
            if entry.dtype is not None and entry.length is not None
        }
        try:
            others = [name for name, entry in manifest.files.items() if entry.dtype is None]
            self._others = {name: _read_small(folder / name) for name in others if name.endswith(".json")}
            self._mapped = {name: _mapped(folder / name) for name in others if not name.endswith(".json")}
        except OSError as e:
            raise IntegrityError("artefact-torn", "a file cannot be read", where=str(folder), fix="build it again") from e

    @classmethod
    def open(cls, dest: Path, kind: str, version: int) -> Artefact:
        """Open the current version: manifest and sizes checked each time, digests once on each machine."""
        return _while_current(dest, lambda folder: cls._open(folder, kind, version))

    @classmethod
    def _open(cls, folder: Path, kind: str, version: int) -> Artefact:
        manifest, where = _read_manifest(folder), str(folder.parent)
        if manifest.kind != kind:
            what = f"this is a {manifest.kind!r}, not a {kind!r}"
            raise IntegrityError("artefact-kind", what, where=where)
        if manifest.format != version:
            what = f"format {manifest.format}, while this Onym reads format {version}"
            raise IntegrityError("artefact-version", what, where=where, fix="build it again with this Onym")
        problems = _problems_of_sizes(folder, manifest)
        is_new_here = not problems and not verified.is_remembered(folder, manifest)
        if is_new_here:
            problems = _problems_of_files(folder, manifest)
        if problems:
            raise IntegrityError("artefact-torn", problems[0], where=where, fix="build it again")
        return cls(folder, manifest, is_new_here=is_new_here)

    def remember(self) -> None:
        """Note that everything was verified on this machine."""
        verified.remember(self.folder, self.manifest)
        self.is_new_here = False

    def array(self, name: str, kind: str = "u") -> npt.NDArray[Any]:
        """Return one column, which must hold numbers of a kind: numpy's letter, `u` for unsigned integers."""
        column = self._columns.get(name)
        if column is None or column.dtype.kind != kind:
            what = f"the column {name} is missing or of another type"
            raise IntegrityError("artefact-torn", what, where=str(self.folder), fix="build it again")
        return column

    def ragged(self, name: str) -> Ragged:
        """Return lists of numbers."""
        return Ragged(self.array(f"{name}.offsets"), self.array(f"{name}.values"))

    def strings(self, name: str) -> Strings:
        """Return a column of strings."""
        data = self.array(f"{name}.data")
        if data.dtype != np.uint8:
            raise IntegrityError("artefact-torn", f"the column {name} holds no bytes", where=str(self.folder))
        return Strings(self.array(f"{name}.offsets"), data)

    def mapped(self, name: str) -> npt.NDArray[np.uint8]:
        """Return the bytes of a file that is no column and no `.json`, without reading them."""
        data = self._mapped.get(name)
        if data is None:
            raise IntegrityError("artefact-torn", f"{name} is missing", where=str(self.folder), fix="build it again")
        return data

    def file(self, name: str) -> InputFile:
        """Return a file that is no column and no `.json`, to be read as often as is wished."""
        data = self.mapped(name)
        return InputFile(name, lambda: cast("BinaryIO", _MappedFile(data)), len(data))

    def json(self, name: str) -> dict[str, Any]:
        """Return an object of plain values."""
        try:
            value = json.loads(self._others.get(name, b""))
        except (ValueError, RecursionError) as e:
            raise IntegrityError("artefact-torn", f"{name} cannot be read", where=str(self.folder)) from e
        if not isinstance(value, dict):
            raise IntegrityError("artefact-torn", f"{name} is not an object", where=str(self.folder))
        return value


class _MappedFile(io.RawIOBase):
    """The bytes of a mapped file, read from their beginning."""

    def __init__(self, data: npt.NDArray[np.uint8]) -> None:
        super().__init__()
        self._data, self._place = data, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        end = len(self._data) if size is None or size < 0 else self._place + size
        found = self._data[self._place : end].tobytes()
        self._place += len(found)
        return found


def check_artefact(dest: Path) -> list[str]:
    """Hash every file again and return what is wrong; an empty list when nothing is."""
    while True:
        before, problems = _current_copy(dest), _found_wrong(dest)
        if not problems or _current_copy(dest) == before:  # else a writer replaced it meanwhile
            return problems


def _found_wrong(dest: Path) -> list[str]:
    try:
        folder, manifest = _while_current(dest, lambda folder: (folder, _read_manifest(folder)))
    except OnymError as e:
        return [e.what]
    return _problems_of_sizes(folder, manifest) or _problems_of_files(folder, manifest)


def _while_current(dest: Path, act: Callable[[Path], T]) -> T:
    """Do something with the current version; do it again if it failed because writers replaced that version meanwhile."""
    while True:
        version, *_ = copy = _current_copy(dest)
        if not version:
            what = "no artefact here" if dest.is_dir() else "no such folder"
            raise IntegrityError("artefact-missing", what, where=str(dest), fix="build it, for instance with onym kb build")
        try:
            return act(dest / version)
        except IntegrityError:
            if _current_copy(dest) == copy:
                raise


def _read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a version, which is named by the manifest's digest."""
    where = str(folder.parent)
    try:
        data = _read_small(folder / "manifest.json")
    except OSError as e:
        raise IntegrityError("artefact-torn", "the current version has no manifest", where=where, fix="build it again") from e
    if hashlib.sha256(data).hexdigest()[:16] != folder.name:
        raise IntegrityError("artefact-torn", "the manifest was changed", where=where, fix="build it again")
    return Manifest.from_bytes(data, where=where)


def _read_small(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read(DEFAULT_LIMITS.manifest_bytes)


def _mapped(path: Path) -> npt.NDArray[np.uint8]:
    with open_regular(path) as file:
        return np.memmap(file, dtype=np.uint8, mode="r") if path.stat().st_size else np.zeros(0, dtype=np.uint8)


def _current_version(dest: Path) -> str:
    try:
        with open_regular(dest / "CURRENT") as file:
            version = file.read(64).decode("ascii", "replace").strip()
    except OSError:
        return ""
    return version if _VERSION.match(version) else ""


def _current_copy(dest: Path) -> tuple[str, int, int]:
    """Return what tells the current version from another, and from a later copy of itself after it was removed."""
    version = _current_version(dest)
    try:
        status = (dest / version).stat()
    except OSError:
        return version, 0, 0
    return version, status.st_ino, status.st_ctime_ns


def _problems(folder: Path, manifest: Manifest) -> list[str]:
    try:
        same = _read_small(folder / "manifest.json") == manifest.to_bytes()
    except OSError:
        same = False
    if not same:
        return ["the manifest was changed"]
    return _problems_of_sizes(folder, manifest) or _problems_of_files(folder, manifest)


def _problems_of_sizes(folder: Path, manifest: Manifest) -> list[str]:
    try:
        found = {path.name: path.lstat() for path in folder.iterdir()}
    except OSError:
        return ["the current version is not there"]
    regular = {name: status.st_size for name, status in found.items() if stat.S_ISREG(status.st_mode)}
    problems = [f"{name} is missing" for name in manifest.files if name not in regular]
    return problems + [
        f"{name} has the wrong size" for name, entry in manifest.files.items() if regular.get(name, entry.bytes) != entry.bytes
    ]


def _problems_of_files(folder: Path, manifest: Manifest) -> list[str]:
    def problem(name: str) -> str | None:
        try:
            with open_regular(folder / name) as file:
                same = hashlib.file_digest(file, "sha256").hexdigest() == manifest.files[name].sha256
        except OSError:
            return f"{name} cannot be read"
        return None if same else f"{name} was changed"

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:  # hashing leaves the interpreter free
        return [found for found in pool.map(problem, sorted(manifest.files)) if found]


def _prune(dest: Path, keep: set[str]) -> None:
    for path in dest.iterdir():
        if path.is_dir() and _VERSION.match(path.name) and path.name not in keep:
            shutil.rmtree(path, ignore_errors=True)
