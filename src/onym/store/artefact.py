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
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError, IntegrityError, OnymError
from onym.store import verified
from onym.store.arrays import Ragged, Strings, open_array, smallest_offsets
from onym.store.limits import DEFAULT_LIMITS
from onym.store.lock import exclusive
from onym.store.manifest import FileEntry, InputEntry, Manifest
from onym.store.output import sync_folder, whole_file

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
        with _HashedWriter(self._folder / "manifest.json") as file:
            file.write(manifest.to_bytes())
        sync_folder(self._folder)
        final = dest / manifest.digest()[:16]
        if final.exists() and _problems_of_files(final, manifest):
            shutil.rmtree(final)  # a damaged copy of this very version: mended by the new one
        if not final.exists():
            self._folder.rename(final)
        sync_folder(dest)
        verified.remember(final, manifest)
        previous = _current_version(dest)
        with whole_file(dest / "CURRENT", force=True) as pointer:
            pointer.write(final.name.encode() + b"\n")
        _prune(dest, keep={final.name, previous})
        return manifest


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

    def write(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        while view:
            written = self._file.write(view)
            self._sha256.update(view[:written])
            self._bytes += written
            view = view[written:]

    def entry(self, dtype: str | None = None, length: int | None = None) -> FileEntry:
        return FileEntry(bytes=self._bytes, sha256=self._sha256.hexdigest(), dtype=dtype, length=length)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync(self._file.fileno())
        self._file.close()


@contextmanager
def staging(dest: Path) -> Iterator[Stage]:
    """Hold the artefact at `dest` for writing; what is not published is removed."""
    if dest.exists() and not dest.is_dir():
        raise ConfigError("output-exists", "a file stands where the artefact should go", where=str(dest))
    if dest.is_dir() and not (dest / ".lock").exists() and any(dest.iterdir()):
        fix = "name an empty or a new folder"
        raise ConfigError("output-exists", "the folder holds something else", where=str(dest), fix=fix)
    dest.mkdir(parents=True, exist_ok=True)
    with exclusive(dest / ".lock"):
        for left in dest.glob(".stage-*"):
            shutil.rmtree(left, ignore_errors=True)
        for left in dest.glob(".CURRENT.*"):
            left.unlink(missing_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".stage-", dir=dest))
        folder.chmod(0o755)
        try:
            yield Stage(folder)
        except OSError as e:
            what = f"the artefact cannot be written: {e.strerror or e}"
            raise ConfigError("output-failed", what, where=str(dest), fix="free space, or name another folder") from e
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class Artefact:
    """An artefact opened for reading: its manifest, and its columns by memory map."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self.digest = folder.name

    @classmethod
    def open(cls, dest: Path, kind: str, version: int) -> Artefact:
        """Open the current version: manifest and sizes checked each time, digests once on each machine."""
        folder, manifest = _read_current(dest)
        if manifest.kind != kind:
            what = f"this is a {manifest.kind!r}, not a {kind!r}"
            raise IntegrityError("artefact-kind", what, where=str(dest))
        if manifest.format != version:
            what = f"format {manifest.format}, while this Onym reads format {version}"
            raise IntegrityError("artefact-version", what, where=str(dest), fix="build it again with this Onym")
        problems = _problems_of_sizes(folder, manifest)
        if not problems and not verified.is_remembered(folder, manifest):
            problems = _problems_of_files(folder, manifest)
        if problems:
            raise IntegrityError("artefact-torn", problems[0], where=str(dest), fix="build it again")
        return cls(folder, manifest)

    @property
    def is_new_here(self) -> bool:
        """True until this machine has verified the artefact; the reader then checks its structure too."""
        return not verified.is_remembered(self.folder, self.manifest)

    def remember(self) -> None:
        """Note that everything was verified on this machine."""
        verified.remember(self.folder, self.manifest)

    def array(self, name: str) -> npt.NDArray[Any]:
        """Map one column."""
        entry = self.manifest.files.get(f"{name}.npy")
        if entry is None or entry.dtype is None or entry.length is None:
            raise IntegrityError("artefact-torn", f"the column {name} is missing", where=str(self.folder))
        return open_array(self.folder / f"{name}.npy", entry.dtype, entry.length)

    def ragged(self, name: str) -> Ragged:
        """Map lists of numbers."""
        return Ragged(self.array(f"{name}.offsets"), self.array(f"{name}.values"))

    def strings(self, name: str) -> Strings:
        """Map a column of strings."""
        return Strings(self.array(f"{name}.offsets"), self.array(f"{name}.data"))

    def json(self, name: str) -> Any:
        """Read a file of plain values."""
        if name not in self.manifest.files:
            raise IntegrityError("artefact-torn", f"the file {name} is missing", where=str(self.folder))
        return json.loads((self.folder / name).read_bytes())


def check_artefact(dest: Path) -> list[str]:
    """Hash every file again and return what is wrong; an empty list when nothing is."""
    try:
        folder, manifest = _read_current(dest)
    except OnymError as e:
        return [e.what]
    return _problems_of_sizes(folder, manifest) or _problems_of_files(folder, manifest)


def _read_current(dest: Path) -> tuple[Path, Manifest]:
    """Read the pointer and the manifest, once more if a writer pruned that version in between."""
    for last in (False, True):
        version = _current_version(dest)
        if not version:
            what = "no artefact here" if dest.is_dir() else "no such folder"
            raise IntegrityError("artefact-missing", what, where=str(dest), fix="build it, for instance with onym kb build")
        folder = dest / version
        try:
            with (folder / "manifest.json").open("rb") as file:
                data = file.read(DEFAULT_LIMITS.manifest_bytes)
        except OSError as e:
            if last:
                raise IntegrityError("artefact-torn", "the current version has no manifest", where=str(dest)) from e
            continue
        manifest = Manifest.from_bytes(data, where=str(dest))
        if manifest.digest()[:16] != version:
            raise IntegrityError("artefact-torn", "the manifest was changed", where=str(dest), fix="build it again")
        return folder, manifest
    raise AssertionError  # pragma: no cover


def _current_version(dest: Path) -> str:
    try:
        with (dest / "CURRENT").open("rb") as file:
            version = file.read(64).decode("ascii", "replace").strip()
    except OSError:
        return ""
    return version if _VERSION.match(version) else ""


def _problems_of_sizes(folder: Path, manifest: Manifest) -> list[str]:
    found = {path.name: path.lstat() for path in folder.iterdir() if not path.is_symlink()}
    expected = {name: entry.bytes for name, entry in manifest.files.items()}
    problems = [f"{name} is missing" for name in expected if name not in found]
    problems += [
        f"{name} has the wrong size" for name, size in expected.items() if name in found and found[name].st_size != size
    ]
    return problems


def _problems_of_files(folder: Path, manifest: Manifest) -> list[str]:
    def problem(name: str) -> str | None:
        try:
            with (folder / name).open("rb") as file:
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
