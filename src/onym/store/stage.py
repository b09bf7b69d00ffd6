"""Writes artefacts: versioned folders that are published atomically.

    DIR/CURRENT             the name of the current version; replaced atomically
    DIR/<16 hex digits>/    a version, named by the digest of its manifest; never changed once published
    DIR/.stage-*/           a version that is being written; if the build is killed, the next build removes it
    DIR/.lock               locked by the one process that may write

Publishing: write to a stage, sync every file, rename the stage to its version, replace CURRENT, sync the folder. A reader
sees either the old or the new version. The previous version is kept, because a reader may be opening it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

import numpy as np
import numpy.typing as npt

from onym.errors import IntegrityError, LimitError
from onym.store import artefact as verified
from onym.store.arrays import Strings, open_array, smallest_offsets
from onym.store.artefact import POINTER, VERSION, FileEntry, InputEntry, Manifest, current_version, find_problems
from onym.store.limits import DEFAULT_LIMITS
from onym.store.output import new_folder, remove_folder, require_artefact, sync_folder, whole_file, writable


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Lock the file `path` during the block; raise IntegrityError at once if another process has locked it."""
    with path.open("a+b") as file:
        try:
            _lock(file.fileno())
        except OSError as e:
            fix = "wait until the other process has finished"
            raise IntegrityError(
                "artefact-locked", "another process is writing to this folder", where=str(path.parent), fix=fix
            ) from e
        yield


@contextmanager
def exclusive_at(path: Path) -> Iterator[None]:
    """Lock the file `path` during the block, and create its folder if needed.

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


_WRITE = 16 * 1024 * 1024


class Stage:
    """An artefact that is being written. Files are hashed during writing, so that they need not be read again."""

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
        """Write a value as indented JSON with sorted keys."""
        with _HashedWriter(self._folder / name) as file:
            file.write(json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False).encode() + b"\n")
        self._files[name] = file.entry()

    @contextmanager
    def file(self, name: str) -> Iterator[BinaryIO]:
        """Create a file that is not a column, for sequential writing."""
        with _HashedWriter(self._folder / name) as file:
            yield cast("BinaryIO", file)
        self._files[name] = file.entry()

    def publish(self, dest: Path, kind: str, version: int, record: Record) -> Manifest:
        """Write the manifest and make the stage the current version."""
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
            raise LimitError("limit-manifest", what, where=str(dest), fix="build the artefact from fewer input files")
        with _HashedWriter(self._folder / "manifest.json") as file:
            file.write(data)
        sync_folder(self._folder)
        self._make_current(dest, manifest)
        return manifest

    def _make_current(self, dest: Path, manifest: Manifest) -> None:
        final, previous = dest / manifest.digest()[:16], current_version(dest)
        if final.exists() and find_problems(final, manifest):
            shutil.rmtree(final)  # a damaged copy of the same version: the new copy replaces it
        is_new = not final.exists()
        try:
            if is_new:
                self._folder.rename(final)
            sync_folder(dest)
            verified.remember(final, verified.state_of(final, manifest))
            with whole_file(dest / POINTER, force=True) as pointer:
                pointer.write(final.name.encode() + b"\n")
        except BaseException:
            if is_new and current_version(dest) != final.name:
                shutil.rmtree(final, ignore_errors=True)
            raise
        _prune(dest, keep={final.name, previous})


class Record:
    """The part of a manifest that the builder provides: configuration, inputs and counts."""

    def __init__(self, config: dict[str, Any], inputs: list[InputEntry], counts: dict[str, int]) -> None:
        self.config, self.inputs, self.counts = config, inputs, counts


class _HashedWriter:
    """A new file that is hashed while it is written, and synced to disk when closed."""

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
    """Lock the artefact at `dest` and yield a new stage. If the stage was not published, it is removed at the end."""
    require_artefact(dest)
    with writable(dest):
        dest.mkdir(parents=True, exist_ok=True)
        with exclusive(dest / ".lock"):
            for left in dest.glob(".stage-*"):
                shutil.rmtree(left, ignore_errors=True)
            for left in dest.glob(".CURRENT.*"):
                left.unlink(missing_ok=True)
            folder = new_folder(dest, ".stage-")
            try:
                yield Stage(folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)


def _prune(dest: Path, keep: set[str]) -> None:
    for path in dest.iterdir():
        if path.is_dir() and VERSION.match(path.name) and path.name not in keep:
            shutil.rmtree(path, ignore_errors=True)


_SIGN = "work.json"


class Work:
    """Stores intermediate columns of a long build, so that it can resume. If the inputs change, the columns are deleted.

    >>> work = Work(getfixture("tmp_path") / "work", ["kb", "encoder"])
    >>> work.keep("first", np.array([1.5, 2.0], dtype=np.float32))
    >>> work.piece("first", "<f4", 2).tolist(), work.piece("second", "<f4", 2)
    ([1.5, 2.0], None)
    """

    def __init__(self, folder: Path, made_of: Sequence[str]) -> None:
        self._folder = folder
        sign = json.dumps(list(made_of)).encode()
        if not self._is_signed(sign):
            remove_folder(folder)
            with whole_file(folder / _SIGN, force=True) as file:
                file.write(sign)

    def keep(self, name: str, values: npt.NDArray[Any]) -> None:
        """Store a one-dimensional column atomically."""
        with whole_file(self._folder / f"{name}.npy", force=True) as file:
            np.lib.format.write_array(file, values.astype(values.dtype.newbyteorder("<"), copy=False), (1, 0), False)

    def piece(self, name: str, dtype: str, length: int) -> npt.NDArray[Any] | None:
        """Memory-map a stored column; return None if it is missing, damaged, or has another type or length."""
        try:
            return open_array(self._folder / f"{name}.npy", dtype, length)
        except IntegrityError:
            return None

    def remove(self) -> None:
        """Remove all stored columns, once the build is complete."""
        remove_folder(self._folder)

    def _is_signed(self, sign: bytes) -> bool:
        try:
            return (self._folder / _SIGN).read_bytes() == sign
        except OSError:
            return False
