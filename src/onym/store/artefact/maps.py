"""Memory maps of files, and whether those files are still as long as they were: a page behind a file's end kills its reader."""

from __future__ import annotations

import threading
from mmap import mmap
from pathlib import Path
from typing import Any, BinaryIO
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from onym.errors import IntegrityError

_open: WeakKeyDictionary[mmap, tuple[Path, int]] = WeakKeyDictionary()  # the file of each map, and its size when it was mapped
_lock = threading.Lock()


def map_file(file: BinaryIO, path: Path, dtype: np.dtype[Any], offset: int = 0) -> npt.NDArray[Any]:
    """Map a file that is open from an offset to its end, for reading. What is empty is an array without a map."""
    size = file.seek(0, 2)
    length = (size - offset) // dtype.itemsize
    if length == 0:
        return np.empty(0, dtype=dtype)
    mapped = np.memmap(file, dtype=dtype, mode="r", offset=offset, shape=(length,))
    with _lock:
        _open[mapped._mmap] = path, size  # type: ignore[attr-defined]  # noqa: SLF001 - numpy has no other name for it
    return mapped


def require_whole_maps() -> None:
    """Refuse to go on if a file that is mapped was cut short since: the system would end the process at the first lost page.

    It costs some microseconds, and is asked before each batch. A file that is cut short within a batch still ends the process.
    """
    with _lock:
        found = list(_open.items())
    for mapped, (path, size) in found:
        if not mapped.closed and mapped.size() < size:
            what, where = f"{path.name} was cut short while it was being read", str(path.parent)
            raise IntegrityError("artefact-corrupt", what, where=where, fix="build it again")
