"""Opens and checks artefacts, which are versioned folders written by `stage.py`. Only the current version is opened.

The manifest and the file sizes are checked at each opening. File digests are checked once per machine, or at each opening
with `verify="full"`. `check_artefact` always hashes every file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError

from onym.config import Strict
from onym.errors import IntegrityError, OnymError
from onym.store.arrays import Ragged, Strings, map_file, open_array
from onym.store.cache import Verify, file_state, read_note, write_note
from onym.store.files.source import InputFile
from onym.store.files.stream import SCARCE, open_regular
from onym.store.limits import DEFAULT_LIMITS

_DIGEST = r"^[0-9a-f]{64}$"
_MAX_LISTS = 50_000  # maximum number of JSON lists and objects in a manifest


class FileEntry(Strict):
    """One file of an artefact; a column has a `dtype` and a `length`."""

    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=_DIGEST)
    dtype: str | None = None
    length: int | None = Field(default=None, ge=0)


class InputEntry(Strict):
    """One input file that the artefact was built from."""

    name: str
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=_DIGEST)


class Manifest(Strict):
    """The manifest of an artefact: its kind, configuration, inputs, counts and files."""

    kind: str
    format: int
    config: dict[str, Any]
    inputs: tuple[InputEntry, ...]
    counts: dict[str, int]
    files: dict[str, FileEntry]

    def to_bytes(self) -> bytes:
        """Return the canonical JSON of the manifest."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, indent=1, ensure_ascii=True).encode() + b"\n"

    def digest(self) -> str:
        """Return the SHA-256 of the canonical JSON, which identifies the artefact."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @classmethod
    def from_bytes(cls, data: bytes, where: str) -> Manifest:
        """Parse and validate a manifest."""
        if data.count(b"{") + data.count(b"[") > _MAX_LISTS:  # the parser allocates hundreds of bytes for each list or object
            raise IntegrityError("artefact-corrupt", "the manifest is too large", where=where, fix="rebuild the artefact")
        try:
            manifest = cls.model_validate_json(data)
        except ValidationError as e:
            raise IntegrityError("artefact-corrupt", "the manifest is invalid", where=where, fix="rebuild the artefact") from e
        bad = [
            name for name in manifest.files if "/" in name or "\\" in name or name.startswith(".") or name == "manifest.json"
        ]
        if bad:
            raise IntegrityError("artefact-corrupt", "the manifest names a file outside the artefact", where=where)
        return manifest


_KIND = "verified"
State = list[object]
"""Size, times, device and inode of each file of a version; compared to detect changes."""


def state_of(folder: Path, manifest: Manifest) -> State:
    """Return the current state of the files of a version; call it before hashing them."""
    names = ("manifest.json", *sorted(manifest.files))
    return [folder.name, [[name, *file_state((folder / name).stat())] for name in names]]


def remember(folder: Path, state: State) -> None:
    """Record in the cache that files in this state match the manifest; no-op if the cache is not writable."""
    write_note(_KIND, folder, state)


def is_verified(folder: Path, state: State) -> bool:
    """Return whether the cache records that files in this state were verified on this machine."""
    return bool(read_note(_KIND, folder) == state)


T = TypeVar("T")
VERSION = re.compile(r"^[0-9a-f]{16}$")
"""Pattern of version folder names."""
POINTER = "CURRENT"
"""Name of the file that holds the name of the current version."""
_POINTER_CONTENT = re.compile(rb"[0-9a-f]{16}\n?")


class Artefact:
    """An artefact opened for reading: its manifest and its memory-mapped columns.

    All files are mapped or read on opening, so that the artefact stays usable after newer versions are published.
    """

    def __init__(self, folder: Path, manifest: Manifest, verify: Verify, hashed: State | None) -> None:
        self.folder, self.manifest, self.verify = folder, manifest, verify
        self.digest = folder.name
        self._hashed = hashed  # state of the files when they were hashed; None if they were verified earlier
        self.is_new_here = hashed is not None  # True until the caller has checked the structure too and calls `remember`
        self._columns = {
            name.removesuffix(".npy"): open_array(folder / name, entry.dtype, entry.length)
            for name, entry in manifest.files.items()
            if entry.dtype is not None and entry.length is not None
        }
        try:
            others = [name for name, entry in manifest.files.items() if entry.dtype is None]
            self._others = {name: _read_small(folder / name) for name in others if name.endswith(".json")}
            self._mapped = {name: _map_bytes(folder / name) for name in others if not name.endswith(".json")}
        except OSError as e:
            _require_damage(e)
            raise IntegrityError("artefact-corrupt", "unreadable file", where=str(folder), fix="rebuild the artefact") from e

    @classmethod
    def open(cls, dest: Path, kind: str, version: int, verify: Verify = "once") -> Artefact:
        """Open the current version; `verify` sets whether file digests are checked once per machine or at each opening."""
        return _while_current(dest, lambda folder: cls._open(folder, kind, version, verify))

    @classmethod
    def _open(cls, folder: Path, kind: str, version: int, verify: Verify) -> Artefact:
        manifest, where = _read_manifest(folder), str(folder.parent)
        if manifest.kind != kind:
            what = f"the artefact is a {manifest.kind!r}, not a {kind!r}"
            raise IntegrityError("artefact-kind", what, where=where)
        if manifest.format != version:
            what = f"the artefact has format {manifest.format}, but this version of Onym reads format {version}"
            raise IntegrityError("artefact-version", what, where=where, fix="rebuild the artefact with this version of Onym")
        _require_none(_problems_of_sizes(folder, manifest), where)
        state = _state(folder, manifest)
        if verify == "once" and is_verified(folder, state):
            return cls(folder, manifest, verify, None)
        _require_none(_problems_of_files(folder, manifest), where)
        return cls(folder, manifest, verify, state)

    @property
    def location(self) -> Path:
        """The folder passed to `open`; `folder` is its subfolder with the current version."""
        return self.folder.parent

    def remember(self) -> None:
        """Record in the cache that this artefact was verified on this machine."""
        if self._hashed is not None:
            remember(self.folder, self._hashed)
        self.is_new_here = False

    def require_intact(self) -> None:
        """Hash all files, ignoring cached results, and raise IntegrityError if a file has changed.

        Called before another artefact is derived from this one. Each `Artefact` object is hashed only once.
        """
        if self._hashed is None:
            state = _state(self.folder, self.manifest)
            _require_none(_problems_of_files(self.folder, self.manifest), str(self.location))
            self._hashed = state

    def has(self, name: str) -> bool:
        """Return whether an array, string column or ragged column has this name; some columns are optional."""
        return name in self._columns or f"{name}.offsets" in self._columns

    def array(self, name: str, kind: str = "u") -> npt.NDArray[Any]:
        """Return a column; raise IntegrityError unless its numpy dtype kind is `kind` (`u` for unsigned integers)."""
        column = self._columns.get(name)
        if column is None or column.dtype.kind != kind:
            what = f"the column {name} is missing or has the wrong type"
            raise IntegrityError("artefact-corrupt", what, where=str(self.folder), fix="rebuild the artefact")
        return column

    def read_ragged(self, name: str, into: int | None = None) -> Ragged:
        """Return a column of lists; if `into` is given, the values are row numbers of a table with `into` rows."""
        return Ragged(self.array(f"{name}.offsets"), self.array(f"{name}.values"), into=into, name=self._column(name))

    def strings(self, name: str) -> Strings:
        """Return a column of strings."""
        data = self.array(f"{name}.data")
        if data.dtype != np.uint8:
            raise IntegrityError("artefact-corrupt", f"the column {name} does not have the type uint8", where=str(self.folder))
        return Strings(self.array(f"{name}.offsets"), data, name=self._column(name))

    def _column(self, name: str) -> str:
        """Return a column's name for messages."""
        return f"{self.folder}, {name}"

    def map_bytes(self, name: str) -> npt.NDArray[np.uint8]:
        """Memory-map a file that is neither a column nor a `.json` file."""
        data = self._mapped.get(name)
        if data is None:
            raise IntegrityError("artefact-corrupt", f"{name} is missing", where=str(self.folder), fix="rebuild the artefact")
        return data

    def file(self, name: str) -> InputFile:
        """Return a file that is neither a column nor a `.json` file; it can be read repeatedly."""
        data = self.map_bytes(name)
        return InputFile(name, lambda: cast("BinaryIO", _MappedFile(data)), len(data))

    def json(self, name: str) -> dict[str, Any]:
        """Return the object in a `.json` file."""
        try:
            value = json.loads(self._others.get(name, b""))
        except (ValueError, RecursionError) as e:
            raise IntegrityError("artefact-corrupt", f"{name} cannot be read", where=str(self.folder)) from e
        if not isinstance(value, dict):
            raise IntegrityError("artefact-corrupt", f"{name} is not a JSON object", where=str(self.folder))
        return value


class _MappedFile(io.RawIOBase):
    """A mapped file as a sequential binary stream."""

    def __init__(self, data: npt.NDArray[np.uint8]) -> None:
        super().__init__()
        self._data, self._offset = data, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        end = len(self._data) if size is None or size < 0 else self._offset + size
        found = self._data[self._offset : end].tobytes()
        self._offset += len(found)
        return found


def check_artefact(dest: Path) -> list[str]:
    """Hash every file and return the problems found; an empty list means that the artefact is intact."""
    while True:
        before, problems = _current_copy(dest), _find_problems(dest)
        if not problems or _current_copy(dest) == before:  # otherwise a writer has replaced the version meanwhile: check again
            return problems


def _find_problems(dest: Path) -> list[str]:
    try:
        folder, manifest = _while_current(dest, lambda folder: (folder, _read_manifest(folder)))
    except OnymError as e:
        return [e.what]
    return _problems_of_sizes(folder, manifest) or _problems_of_files(folder, manifest)


def _while_current(dest: Path, act: Callable[[Path], T]) -> T:
    """Call `act` with the current version; retry if `act` failed because a writer replaced that version meanwhile."""
    while True:
        version, *_ = copy = _current_copy(dest)
        if not version:
            what = "the folder has no artefact" if dest.is_dir() else "no such folder"
            raise IntegrityError("artefact-missing", what, where=str(dest), fix="build it with a command such as onym kb build")
        try:
            return act(dest / version)
        except IntegrityError:
            if _current_copy(dest) == copy:
                raise


def _read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a version and check that its digest matches the folder's name."""
    where = str(folder.parent)
    try:
        data = _read_small(folder / "manifest.json")
    except OSError as e:
        _require_damage(e)
        raise IntegrityError(
            "artefact-corrupt", "the current version has no manifest", where=where, fix="rebuild the artefact"
        ) from e
    if hashlib.sha256(data).hexdigest()[:16] != folder.name:
        raise IntegrityError("artefact-corrupt", "the manifest was changed", where=where, fix="rebuild the artefact")
    return Manifest.from_bytes(data, where=where)


def _read_small(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read(DEFAULT_LIMITS.manifest_bytes)


def _map_bytes(path: Path) -> npt.NDArray[np.uint8]:
    with open_regular(path) as file:
        return map_file(file, path, np.dtype(np.uint8))


def artefact_files(dest: Path) -> list[Path]:
    """Return the paths of CURRENT and of all files of the current version, relative to the artefact's folder.

    >>> [path.name for path in artefact_files(getfixture("tiny_kb"))][:3]
    ['CURRENT', 'manifest.json', 'alias.concept.npy']
    """
    folder, manifest = _while_current(dest, lambda folder: (folder, _read_manifest(folder)))
    version = Path(folder.name)
    return [Path(POINTER), version / "manifest.json", *(version / name for name in sorted(manifest.files))]


def current_version(dest: Path) -> str:
    """Return the name of the current version, or an empty string if there is none."""
    try:
        with open_regular(dest / POINTER) as file:
            pointer = file.read(64)
    except OSError as e:
        _require_damage(e)
        return ""
    return pointer[:16].decode("ascii") if _POINTER_CONTENT.fullmatch(pointer) else ""


def _current_copy(dest: Path) -> tuple[str, int, int]:
    """Return the current version with its inode and change time, which differ if the same version is published again."""
    version = current_version(dest)
    try:
        status = (dest / version).stat()
    except OSError:
        return version, 0, 0
    return version, status.st_ino, status.st_ctime_ns


def _state(folder: Path, manifest: Manifest) -> State:
    try:
        return state_of(folder, manifest)
    except OSError as e:
        _require_damage(e)
        raise IntegrityError("artefact-corrupt", "a file cannot be read", where=str(folder), fix="rebuild the artefact") from e


def _require_damage(error: OSError) -> None:
    """Re-raise an error caused by a lack of file handles or memory, which does not mean that the artefact is damaged."""
    if error.errno in SCARCE:
        raise error


def _require_none(problems: list[str], where: str) -> None:
    if problems:
        raise IntegrityError("artefact-corrupt", problems[0], where=where, fix="rebuild the artefact")


def find_problems(folder: Path, manifest: Manifest) -> list[str]:
    """Hash the files of a version and return a description of each file that does not match the manifest."""
    try:
        same = _read_small(folder / "manifest.json") == manifest.to_bytes()
    except OSError as e:
        _require_damage(e)
        same = False
    if not same:
        return ["the manifest was changed"]
    return _problems_of_sizes(folder, manifest) or _problems_of_files(folder, manifest)


def _problems_of_sizes(folder: Path, manifest: Manifest) -> list[str]:
    try:
        found = {path.name: path.lstat() for path in folder.iterdir()}
    except OSError:
        return ["the folder of the current version is missing"]
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
        except OSError as e:
            _require_damage(e)
            return f"{name} cannot be read"
        return None if same else f"{name} was changed"

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:  # threads, because hashing releases the GIL
        return [found for found in pool.map(problem, sorted(manifest.files)) if found]
