"""Columns on disk: one `.npy` file each, memory-mapped for reading.

An `.npy` file is a header and raw little-endian numbers: readable in any language, and without executable content.
"""

from __future__ import annotations

import mmap as maps
import os
import threading
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from mmap import ALLOCATIONGRANULARITY, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from onym.errors import IntegrityError
from onym.store.files.stream import SCARCE, open_regular

if TYPE_CHECKING:
    import pyarrow as pa

_open: WeakKeyDictionary[mmap, tuple[Path, int]] = (
    WeakKeyDictionary()
)  # the path of each mapped file, and its size when it was mapped
_lock = threading.Lock()


def map_file(file: BinaryIO, path: Path, dtype: np.dtype[Any], offset: int = 0) -> npt.NDArray[Any]:
    """Memory-map an open file read-only, from `offset` to its end. Return an in-memory array if that range is empty."""
    size = file.seek(0, 2)
    length = (size - offset) // dtype.itemsize
    if length == 0:
        return np.empty(0, dtype=dtype)
    mapped = np.memmap(file, dtype=dtype, mode="r", offset=offset, shape=(length,))
    with _lock:
        _open[mapped._mmap] = path, size  # type: ignore[attr-defined]  # noqa: SLF001 - numpy has no other name for it
    return mapped


def require_whole_maps() -> None:
    """Raise IntegrityError if a mapped file was truncated: reading a lost page would kill the process (SIGBUS).

    The check takes microseconds and runs before each batch. A file that is truncated during a batch still kills the process.
    """
    with _lock:
        found = list(_open.items())
    for mapped, (path, size) in found:
        if not mapped.closed and mapped.size() < size:
            what, where = f"{path.name} was truncated while it was in use", str(path.parent)
            raise IntegrityError("artefact-corrupt", what, where=where, fix="rebuild the artefact")


_SLICE = 4 * 1024 * 1024  # bytes of UTF-8 to validate at a time
_POSTS = 16_384  # number of evenly spaced strings kept in memory to narrow a binary search
_FEW_VALUES = 16
_FEW_SEARCHES = 5_000  # number of searches after which loading the sampled strings pays off
_LET_GO: int | None = getattr(maps, "MADV_DONTNEED", None)
_PLAIN = {"|u1", "|i1", "<u2", "<u4", "<u8", "<i4", "<i8", "<f2", "<f4", "<f8"}


def open_array(path: Path, dtype: str, length: int) -> npt.NDArray[Any]:
    """Memory-map a one-dimensional array; raise IntegrityError if its header or size contradicts the manifest."""
    if dtype not in _PLAIN:
        raise IntegrityError("artefact-corrupt", f"a column has the unsupported type {dtype!r}", where=path.name)
    try:
        with open_regular(path) as file:
            shape, fortran, found = _header(file, path)
            offset, size = file.tell(), file.seek(0, os.SEEK_END)
            if shape != (length,) or fortran or found != np.dtype(dtype):
                raise IntegrityError("artefact-corrupt", "a column's header contradicts the manifest", where=path.name)
            if size != offset + length * found.itemsize:
                raise IntegrityError("artefact-corrupt", "a column's size contradicts its header", where=path.name)
            return map_file(file, path, found, offset)
    except OSError as e:
        if e.errno in SCARCE:
            raise
        raise IntegrityError("artefact-corrupt", "a column cannot be read", where=path.name) from e


def _header(file: BinaryIO, path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError
        # numpy assumes that a header it cannot parse was written by Python 2, and warns.
        with warnings.catch_warnings(action="ignore"):
            return np.lib.format.read_array_header_1_0(file, max_header_size=4096)
    except Exception as e:  # for damaged headers, numpy raises syntax, token, memory and recursion errors
        raise IntegrityError("artefact-corrupt", "a column has no readable header", where=path.name) from e


def smallest_offsets(offsets: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return offsets as 32-bit integers if they fit, else as 64-bit integers.

    >>> smallest_offsets(np.array([0, 3, 5])).dtype
    dtype('uint32')
    """
    return offsets.astype("<u4" if len(offsets) == 0 or offsets[-1] < 2**32 else "<u8")


def release(column: npt.NDArray[Any]) -> None:
    """Release the pages of a mapped column, so that they no longer count as memory of this process.

    The pages are loaded again on the next access. No-op for in-memory columns and on systems without MADV_DONTNEED.
    """
    mapped = getattr(column, "_mmap", None)
    if isinstance(mapped, mmap) and _LET_GO is not None:
        mapped.madvise(_LET_GO)


def _sliceable(data: npt.NDArray[np.uint8]) -> tuple[mmap | memoryview, int]:
    """Return a buffer with the column's bytes, and the offset at which they start. Slicing an mmap directly saves a copy."""
    mapped = getattr(data, "_mmap", None)
    if isinstance(data, np.memmap) and isinstance(mapped, mmap):
        return mapped, data.offset % ALLOCATIONGRANULARITY
    return memoryview(data), 0  # type: ignore[arg-type]


def corrupt(what: str, where: str) -> IntegrityError:
    """Build the error for invalid column content, which means that the bytes changed after verification."""
    fix = "check the artefact with --verify full or onym kb check, and rebuild it"
    return IntegrityError("artefact-corrupt", what, where=where, fix=fix)


def span_of(bounds: memoryview, row: int, size: int, where: str) -> tuple[int, int]:
    """Return the start and end of a row; raise IntegrityError if its offsets, or the offsets next to them, do not ascend.

    >>> span_of(memoryview(np.array([0, 2, 5])), 1, 5, "names")
    (2, 5)
    """
    start, end = bounds[row], bounds[row + 1]
    before = bounds[row - 1] if row else 0
    after = bounds[row + 2] if row + 2 < len(bounds) else size
    if not before <= start <= end <= after <= size:
        raise corrupt("a column's offsets do not ascend", where)
    return start, end


class Ragged:
    """Lists of numbers with different lengths, stored as two flat arrays: all values, and the offset of each list.

    If `into` is given, the values are row numbers of a table with `into` rows. Every access is checked, so damaged arrays
    raise an error instead of returning wrong values.

    >>> lists = Ragged(np.array([0, 2, 2, 3]), np.array([7, 8, 9]))
    >>> lists[0].tolist(), lists[1].tolist(), len(lists)
    ([7, 8], [], 3)
    """

    __slots__ = ("_bounds", "_into", "_is_sound", "_name", "offsets", "values")

    def __init__(self, offsets: npt.NDArray[Any], values: npt.NDArray[Any], *, into: int | None = None, name: str = "") -> None:
        self.offsets = offsets
        self.values = values.view(np.ndarray)  # small reads of a `memmap` are many times slower
        self._bounds = memoryview(offsets)  # type: ignore[arg-type]  # returns ints, faster than numpy
        self._into, self._name = into, name
        self._is_sound = False

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> npt.NDArray[Any]:
        start, end = self.span(i)
        return self._inside(self.values[start:end])

    def span(self, i: int) -> tuple[int, int]:
        """Return the start and end of list `i` in `values`."""
        return span_of(self._bounds, i, len(self.values), self._name)

    def take(self, rows: npt.NDArray[Any]) -> Ragged:
        """Return the lists at the given rows, in that order, without reading any other list.

        >>> lists = Ragged(np.array([0, 2, 2, 3]), np.array([7, 8, 9])).take(np.array([2, 1, 0]))
        >>> lists.offsets.tolist(), lists.values.tolist()
        ([0, 1, 1, 3], [9, 7, 8])
        """
        positions, offsets = self.positions(rows)
        return Ragged(offsets, self.at(positions))

    def positions(self, rows: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the positions in `values` of the elements of these rows, row by row, and the offset of each row among them."""
        starts = self.offsets[rows].astype(np.int64)
        ends = self.offsets[rows + 1].astype(np.int64)
        if not bool(((starts >= 0) & (starts <= ends) & (ends <= len(self.values))).all()):
            raise corrupt("a column's offsets do not ascend", self._name)
        lengths = ends - starts
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths), offsets

    def at(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the values at the given positions; raise IntegrityError if one is out of range."""
        return self._inside(self.values[positions])

    def owners(self) -> npt.NDArray[np.int64]:
        """Return, for each value, the index of the list that contains it.

        >>> Ragged(np.array([0, 2, 2, 3]), np.array([7, 8, 9])).owners().tolist()
        [0, 0, 2]
        """
        if not self._is_sound:
            self.require_sound(self._name, self._into)
            self._is_sound = True
        lengths: npt.NDArray[np.int64] = np.diff(self.offsets.astype(np.int64))  # type: ignore[assignment]
        return np.repeat(np.arange(len(self), dtype=np.int64), lengths)

    def require_sound(self, name: str, bound: int | None = None) -> None:
        """Raise IntegrityError unless the offsets ascend from 0 to `len(values)` and all values are below `bound`."""
        offsets, values = self.offsets, self.values
        sound = len(offsets) > 0 and int(offsets[0]) == 0 and int(offsets[-1]) == len(values)
        if not sound or bool((offsets[1:] < offsets[:-1]).any()):
            raise corrupt("a column's offsets do not ascend", name)
        if bound is not None and len(values) and int(values.max()) >= bound:
            raise corrupt("a column has a row number beyond the end of its table", name)

    def _inside(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self._into is not None and _is_above(values, self._into):
            raise corrupt("a column has a row number beyond the end of its table", self._name)
        return values


def _is_above(values: npt.NDArray[Any], limit: int) -> bool:
    """Return whether a value is at least `limit`; for a few values, Python is several times faster than numpy."""
    if len(values) <= _FEW_VALUES:
        return max(values.tolist(), default=-1) >= limit
    return int(values.max()) >= limit


class Strings:
    """A column of strings: UTF-8 bytes and the offset of each string. Sorted columns can be searched.

    >>> column = Strings.of(["aspirin", "fever"])
    >>> column[1], column.find("fever"), column.find("flu")
    ('fever', 1, -1)
    """

    __slots__ = ("_base", "_ends", "_fence", "_is_sound", "_name", "_raw", "_searches", "_stride", "data", "offsets")

    def __init__(self, offsets: npt.NDArray[Any], data: npt.NDArray[np.uint8], *, name: str = "") -> None:
        self.offsets = offsets
        self.data = data
        self._name = name
        self._is_sound = False
        self._raw, self._base = _sliceable(data)
        self._ends = memoryview(offsets)  # type: ignore[arg-type]  # returns ints, faster than numpy
        self._fence: list[bytes] = []
        self._searches = 0
        self._stride = (len(offsets) - 1) // _POSTS + 1

    @classmethod
    def of(cls, texts: list[str]) -> Strings:
        """Build a column from a list."""
        encoded = [text.encode() for text in texts]
        offsets = np.concatenate(([0], np.cumsum([len(e) for e in encoded], dtype=np.int64)))
        return cls(smallest_offsets(offsets), np.frombuffer(b"".join(encoded), dtype=np.uint8))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> str:
        try:
            return str(self.bytes_at(i), "utf-8")
        except UnicodeDecodeError as e:
            raise corrupt("a string is not UTF-8", self._name) from e

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def bytes_at(self, i: int) -> bytes:
        """Return the UTF-8 bytes of string `i`."""
        start, end = span_of(self._ends, i, len(self.data), self._name)
        return bytes(self._raw[self._base + start : self._base + end])

    def to_arrow(self) -> pa.Array:
        """Return the column as an Arrow array without copying. The first call validates all strings: Arrow does not."""
        import pyarrow as pa

        small = len(self.data) < 2**31
        offsets = self.offsets.view(np.int32) if small and self.offsets.dtype == np.uint32 else self.offsets.astype(np.int64)
        kind = pa.utf8() if offsets.dtype == np.int32 else pa.large_utf8()
        try:
            column = pa.Array.from_buffers(kind, len(self), [None, pa.py_buffer(offsets), pa.py_buffer(self.data)])
            column.validate(full=not self._is_sound)
        except pa.ArrowInvalid as e:
            raise corrupt("a column of strings is invalid", self._name) from e
        self._is_sound = True
        return column

    def lower_bound(self, key: bytes) -> int:
        """Return the first row whose string is >= `key`. The column must be sorted, otherwise the result is arbitrary."""
        low, high = self._stretch(key)
        raw, base, ends = self._raw, self._base, self._ends
        while low < high:
            middle = (low + high) >> 1
            if bytes(raw[base + ends[middle] : base + ends[middle + 1]]) < key:
                low = middle + 1
            else:
                high = middle
        return low

    def _stretch(self, key: bytes) -> tuple[int, int]:
        """Return the range of rows to search. Every n-th string is kept in memory to narrow this range.

        The first searches do not use these sampled strings, because loading them takes longer than a few searches.
        """
        if self._searches < _FEW_SEARCHES:
            self._searches += 1
            return (self._search_lower_bound(key),) * 2
        if not self._fence:
            self._fence = [self.bytes_at(i) for i in range(0, len(self), self._stride)]
        post = bisect_left(self._fence, key)
        return max(0, (post - 1) * self._stride), min(len(self._ends) - 1, post * self._stride)

    def _search_lower_bound(self, key: bytes) -> int:
        """Search the whole column, without the sampled strings; raise IntegrityError if an offset that it reads is invalid."""
        raw, base, ends, size = self._raw, self._base, self._ends, len(self.data)
        low, high = 0, len(ends) - 1
        while low < high:
            middle = (low + high) >> 1
            start, end = ends[middle], ends[middle + 1]
            if not 0 <= start <= end <= size:
                raise corrupt("a column's offsets do not ascend", self._name)
            if bytes(raw[base + start : base + end]) < key:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, text: str) -> int:
        """Return the row of `text` in a sorted column, or -1."""
        key = text.encode("utf-8", "surrogatepass")  # a text with a lone surrogate is never found
        row = self.lower_bound(key)
        return row if row < len(self) and self.bytes_at(row) == key else -1

    def find_many(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the rows of many texts in a sorted column, -1 if missing, by one vectorised binary search.

        >>> Strings.of(["fever", "heart attack", "pain"]).find_many(["pain", "ague", "fever"]).tolist()
        [2, -1, 0]
        """
        keys = np.array([text.encode("utf-8", "surrogatepass") for text in texts], dtype=bytes)
        low, high = np.zeros(len(keys), dtype=np.int64), np.full(len(keys), len(self), dtype=np.int64)
        width = keys.dtype.itemsize + 1  # one byte more than any key, so that no key equals a mere prefix
        while (open_ := np.flatnonzero(low < high)).size:
            middle = (low[open_] + high[open_]) >> 1
            is_below = self._heads(middle, width) < keys[open_]
            low[open_[is_below]] = middle[is_below] + 1
            high[open_[~is_below]] = middle[~is_below]
        found = np.flatnonzero(low < len(self))
        rows = np.full(len(keys), -1, dtype=np.int64)
        is_equal = self._heads(low[found], width) == keys[found]
        rows[found[is_equal]] = low[found[is_equal]]
        return rows

    def _heads(self, rows: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.bytes_]:
        """Return the first `width` bytes of the strings; raise IntegrityError for invalid offsets."""
        starts, ends = self.offsets[rows].astype(np.int64), self.offsets[rows + 1].astype(np.int64)
        if bool(((starts > ends) | (ends > len(self.data))).any()):
            raise corrupt("a column's offsets do not ascend", self._name)
        at = starts[:, None] + np.arange(width)
        inside = at < np.minimum(ends, starts + width)[:, None]
        heads = (
            np.where(inside, self.data[np.where(inside, at, 0)], np.uint8(0))
            if len(self.data)
            else np.zeros(at.shape, np.uint8)
        )
        return np.ascontiguousarray(heads).view(f"S{width}")[:, 0]

    def require_sound(self, name: str) -> None:
        """Raise IntegrityError unless the offsets ascend and each string is valid UTF-8."""
        Ragged(self.offsets, self.data).require_sound(name)
        starts = self.offsets[:-1][self.offsets[:-1] < len(self.data)]
        if len(self.data) and bool(((self.data[starts] & 0xC0) == 0x80).any()):
            raise corrupt("a string starts in the middle of a UTF-8 character", name)
        cuts = [
            0,
            *(int(self.offsets[np.searchsorted(self.offsets, at)]) for at in range(_SLICE, len(self.data), _SLICE)),
        ]
        for start, end in zip(cuts, [*cuts[1:], len(self.data)], strict=True):
            try:
                str(self._raw[self._base + start : self._base + end], "utf-8")
            except UnicodeDecodeError as e:
                raise corrupt("a column of strings is not UTF-8", name) from e
