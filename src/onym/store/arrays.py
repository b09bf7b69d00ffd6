"""Columns on disk: one `.npy` file each, written as it is hashed, read by memory map.

`.npy` is a fixed header and raw little-endian numbers: any language reads it, and nothing in it can be executed.
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


_SLICE = 4 * 1024 * 1024  # bytes decoded at a time
_POSTS = 16_384  # strings kept in memory to narrow a search
_FEW_SEARCHES = 5_000
_LET_GO: int | None = getattr(maps, "MADV_DONTNEED", None)
_PLAIN = {"|u1", "<u2", "<u4", "<u8", "<i4", "<i8", "<f4", "<f8"}


def open_array(path: Path, dtype: str, length: int) -> npt.NDArray[Any]:
    """Map a one-dimensional array, refusing one whose header or size is not what the manifest says."""
    if dtype not in _PLAIN:
        raise IntegrityError("artefact-corrupt", f"a column of type {dtype!r}", where=path.name)
    try:
        with open_regular(path) as file:
            shape, fortran, found = _header(file, path)
            offset, size = file.tell(), file.seek(0, os.SEEK_END)
            if shape != (length,) or fortran or found != np.dtype(dtype):
                raise IntegrityError("artefact-corrupt", "a column's header is not the manifest's", where=path.name)
            if size != offset + length * found.itemsize:
                raise IntegrityError("artefact-corrupt", "a column is shorter or longer than its header says", where=path.name)
            return map_file(file, path, found, offset)
    except OSError as e:
        if e.errno in SCARCE:
            raise
        raise IntegrityError("artefact-corrupt", "a column cannot be read", where=path.name) from e


def _header(file: BinaryIO, path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError
        # Of a header that Python cannot parse numpy supposes that it is Python 2's, and warns.
        with warnings.catch_warnings(action="ignore"):
            return np.lib.format.read_array_header_1_0(file, max_header_size=4096)
    except Exception as e:  # numpy leaks syntax, token, memory and recursion errors of damaged headers
        raise IntegrityError("artefact-corrupt", "a column has no readable header", where=path.name) from e


def smallest_offsets(offsets: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return offsets in 32 bits where they fit, else in 64.

    >>> smallest_offsets(np.array([0, 3, 5])).dtype
    dtype('uint32')
    """
    return offsets.astype("<u4" if len(offsets) == 0 or offsets[-1] < 2**32 else "<u8")


def release(column: npt.NDArray[Any]) -> None:
    """Let go of the pages of a mapped column, so that they no longer count as memory of this process.

    They are read again when they are looked at. Of a column that is not mapped nothing happens, and where the system cannot.
    """
    mapped = getattr(column, "_mmap", None)
    if isinstance(mapped, mmap) and _LET_GO is not None:
        mapped.madvise(_LET_GO)


def _sliceable(data: npt.NDArray[np.uint8]) -> tuple[mmap | memoryview, int]:
    """Return what to slice for the column's bytes, and where they begin in it: slices of a map are copied only once."""
    mapped = getattr(data, "_mmap", None)
    if isinstance(data, np.memmap) and isinstance(mapped, mmap):
        return mapped, data.offset % ALLOCATIONGRANULARITY
    return memoryview(data), 0  # type: ignore[arg-type]


def corrupt(what: str, where: str) -> IntegrityError:
    """Return the error of content that no sound column has: its bytes are not those that were verified."""
    fix = "look for changed bytes with --verify full or onym kb check, and build it again"
    return IntegrityError("artefact-corrupt", what, where=where, fix=fix)


def span_of(bounds: memoryview, row: int, size: int, where: str) -> tuple[int, int]:
    """Return where a row begins and ends, which must lie between the rows before and after it, and within `size`.

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
    """Lists of numbers of different lengths, in two flat arrays.

    With `into`, the numbers are rows of a table of that length. Whatever the arrays hold, what is looked at is checked: it is
    the lists' own, or an error.

    >>> lists = Ragged(np.array([0, 2, 2, 3]), np.array([7, 8, 9]))
    >>> lists[0].tolist(), lists[1].tolist(), len(lists)
    ([7, 8], [], 3)
    """

    __slots__ = ("_bounds", "_into", "_is_sound", "_name", "offsets", "values")

    def __init__(self, offsets: npt.NDArray[Any], values: npt.NDArray[Any], *, into: int | None = None, name: str = "") -> None:
        self.offsets = offsets
        self.values = values.view(np.ndarray)  # reading a few entries of a `memmap` takes many times as long
        self._bounds = memoryview(offsets)  # type: ignore[arg-type]  # gives plain integers, faster than numpy
        self._into, self._name = into, name
        self._is_sound = False

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> npt.NDArray[Any]:
        start, end = self.span(i)
        return self._inside(self.values[start:end])

    def span(self, i: int) -> tuple[int, int]:
        """Return where list `i` begins and ends among the values."""
        return span_of(self._bounds, i, len(self.values), self._name)

    def take(self, rows: npt.NDArray[Any]) -> Ragged:
        """Return the lists of these rows, in their order; of the others nothing is read.

        >>> lists = Ragged(np.array([0, 2, 2, 3]), np.array([7, 8, 9])).take(np.array([2, 1, 0]))
        >>> lists.offsets.tolist(), lists.values.tolist()
        ([0, 1, 1, 3], [9, 7, 8])
        """
        starts = self.offsets[rows].astype(np.int64)
        ends = self.offsets[rows + 1].astype(np.int64)
        if not bool(((starts >= 0) & (starts <= ends) & (ends <= len(self.values))).all()):
            raise corrupt("a column's offsets do not ascend", self._name)
        lengths = ends - starts
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        values = self.values[np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)]
        return Ragged(offsets, self._inside(values))

    def owners(self) -> npt.NDArray[np.int64]:
        """Return for each value the list that it stands in.

        >>> Ragged(np.array([0, 2, 2, 3]), np.array([7, 8, 9])).owners().tolist()
        [0, 0, 2]
        """
        if not self._is_sound:
            self.require_sound(self._name, self._into)
            self._is_sound = True
        lengths: npt.NDArray[np.int64] = np.diff(self.offsets.astype(np.int64))  # type: ignore[assignment]
        return np.repeat(np.arange(len(self), dtype=np.int64), lengths)

    def require_sound(self, name: str, bound: int | None = None) -> None:
        """Refuse offsets that do not ascend from 0 to the end, and values at or over `bound`."""
        offsets, values = self.offsets, self.values
        sound = len(offsets) > 0 and int(offsets[0]) == 0 and int(offsets[-1]) == len(values)
        if not sound or bool((offsets[1:] < offsets[:-1]).any()):
            raise corrupt("a column's offsets do not ascend", name)
        if bound is not None and len(values) and int(values.max()) >= bound:
            raise corrupt("a column points beyond its table", name)

    def _inside(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self._into is not None and len(values) and int(values.max()) >= self._into:
            raise corrupt("a column points beyond its table", self._name)
        return values


class Strings:
    """A column of strings: UTF-8 bytes and where each begins. Sorted columns can be searched.

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
        self._ends = memoryview(offsets)  # type: ignore[arg-type]  # gives plain integers, faster than numpy
        self._fence: list[bytes] = []
        self._searches = 0
        self._stride = (len(offsets) - 1) // _POSTS + 1

    @classmethod
    def of(cls, texts: list[str]) -> Strings:
        """Make a column of a list."""
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
        """Return the column as an Arrow array over the same memory. All of it is checked the first time: Arrow would not."""
        import pyarrow as pa

        small = len(self.data) < 2**31
        offsets = self.offsets.view(np.int32) if small and self.offsets.dtype == np.uint32 else self.offsets.astype(np.int64)
        kind = pa.utf8() if offsets.dtype == np.int32 else pa.large_utf8()
        try:
            column = pa.Array.from_buffers(kind, len(self), [None, pa.py_buffer(offsets), pa.py_buffer(self.data)])
            column.validate(full=not self._is_sound)
        except pa.ArrowInvalid as e:
            raise corrupt("a column of strings is not one", self._name) from e
        self._is_sound = True
        return column

    def lower_bound(self, key: bytes) -> int:
        """Return the row of the first string that is not below `key`, in a sorted column; in another one, some row."""
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
        """Narrow a search to the stretch between two fence posts: strings at even distances, held in memory.

        A few searches are done sooner than the fence is put up: they look at each string on the way.
        """
        if self._searches < _FEW_SEARCHES:
            self._searches += 1
            return (self._search_lower_bound(key),) * 2
        if not self._fence:
            self._fence = [self.bytes_at(i) for i in range(0, len(self), self._stride)]
        post = bisect_left(self._fence, key)
        return max(0, (post - 1) * self._stride), min(len(self._ends) - 1, post * self._stride)

    def _search_lower_bound(self, key: bytes) -> int:
        """Search without a fence; offsets that do not ascend are refused where they are met."""
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
        key = text.encode("utf-8", "surrogatepass")  # half of a pair, which no name holds, is not found
        row = self.lower_bound(key)
        return row if row < len(self) and self.bytes_at(row) == key else -1

    def find_many(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the rows of many texts in a sorted column, -1 for those that are not in it: one binary search for all of them.

        >>> Strings.of(["fever", "heart attack", "pain"]).find_many(["pain", "ague", "fever"]).tolist()
        [2, -1, 0]
        """
        keys = np.array([text.encode("utf-8", "surrogatepass") for text in texts], dtype=bytes)
        low, high = np.zeros(len(keys), dtype=np.int64), np.full(len(keys), len(self), dtype=np.int64)
        width = keys.dtype.itemsize + 1  # a longer string differs from every key by its last byte
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
        """Return the first bytes of strings; offsets that do not ascend are refused."""
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
        """Refuse offsets that do not ascend, and strings that are not UTF-8 each by itself."""
        Ragged(self.offsets, self.data).require_sound(name)
        starts = self.offsets[:-1][self.offsets[:-1] < len(self.data)]
        if len(self.data) and bool(((self.data[starts] & 0xC0) == 0x80).any()):
            raise corrupt("a string begins inside a character", name)
        cuts = [
            0,
            *(int(self.offsets[np.searchsorted(self.offsets, at)]) for at in range(_SLICE, len(self.data), _SLICE)),
        ]
        for start, end in zip(cuts, [*cuts[1:], len(self.data)], strict=True):
            try:
                str(self._raw[self._base + start : self._base + end], "utf-8")
            except UnicodeDecodeError as e:
                raise corrupt("a column of strings is not UTF-8", name) from e
