"""Validates the structure of a FAISS file before FAISS reads it: every length and every id.

FAISS uses these lengths and ids without checking them. So we verify that lists have their stated length, that graph neighbours
exist on their level, and that ids are ids of names. The components of vectors may have any value.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.methods.dense.index.kinds import KINDS, LINKS, code_bits, codes_per_vector, lists_of

_HEAD = struct.Struct("<4siqqqBi")  # fields: fourcc, width, count, two unused numbers, is_trained, metric
_COUNT_AT = 8
_INNER_PRODUCT = 0


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a FAISS index. `is_ready` means that the index is trained and uses the inner product."""

    fourcc: bytes
    width: int
    count: int
    is_ready: bool

    @classmethod
    def parse(cls, data: bytes) -> Header | None:
        """Parse the header of a file; return None if the file is too short.

        >>> Header.parse(b"IxFI") is None
        True
        """
        if len(data) < _HEAD.size:
            return None
        fourcc, width, count, _, _, has_learnt, metric = _HEAD.unpack_from(data)
        return cls(fourcc, width, count, has_learnt == 1 and metric == _INNER_PRODUCT)


SIZE = _HEAD.size


def make_stream_head(empty: bytes, count: int, code_bytes: int, item_bytes: int) -> bytes:
    """Return the file header of an index with `count` codes, derived from the file of an empty index.

    The file of an empty index ends with the length of its codes, which is 0. A flat index counts this length in 4-byte floats,
    the other kinds count it in bytes.
    """
    items = count * code_bytes // item_bytes
    return empty[:_COUNT_AT] + struct.pack("<q", count) + empty[_COUNT_AT + 8 : -8] + struct.pack("<Q", items)


Bytes = npt.NDArray[np.uint8]
_PROBABLE = 1e-9  # minimum probability of a graph level; FAISS creates no level with a lower probability
_MAX_EFFORT = 1_000_000  # maximum value of the HNSW parameters efConstruction and efSearch
_AT_ONCE = 250_000  # number of neighbours checked per step, so that they fit in the CPU cache
_TYPES = {"flat16": 4, "sq8": 0}  # FAISS's ids of scalar quantizer types
_ITEM = {"flat": 4, "flat16": 2, "sq8": 1}  # bytes per vector component


def problem_of(data: Bytes, kind: str, width: int, names: int, *, is_new: bool) -> str:
    """Return a description of what is wrong with the file of an index, or an empty string if it is valid.

    Lengths, constants and graph neighbours are always checked. The ids in inverted lists are checked only with `is_new`,
    because this takes a pass over all lists. Afterwards, `Index.search` detects invalid ids in its results.

    >>> problem_of(np.zeros(10, dtype=np.uint8), "flat", 16, 3, is_new=True)
    'the file is truncated'
    """
    walk = _FileCursor(data)
    try:
        _STRUCTURES.get(kind, _codes)(walk, kind, width, names, is_new)
        _require(walk.at == len(data), "the file has extra bytes at the end")
    except _Wrong as e:
        return e.what
    return ""


class _Wrong(Exception):  # noqa: N818 - internal to this module
    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def _require(is_so: bool, what: str) -> None:
    if not is_so:
        raise _Wrong(what)


class _FileCursor:
    """A read position in the file."""

    def __init__(self, data: Bytes) -> None:
        self._data, self.at = data, 0

    def numbers(self, layout: str) -> tuple[Any, ...]:
        """Read numbers with a format string of the `struct` module."""
        one = struct.Struct(f"<{layout}")
        return one.unpack(self.skip(one.size).tobytes())

    def skip(self, count: int) -> Bytes:
        """Read `count` bytes without copying them."""
        _require(0 <= count <= len(self._data) - self.at, "the file is truncated")
        found = self._data[self.at : self.at + count]
        self.at += count
        return found

    def vector(self, dtype: str, length: int | None = None) -> npt.NDArray[Any]:
        """Read an array that follows its length. If `length` is given, the stored length must equal it."""
        (stored,) = self.numbers("Q")
        _require(length is None or stored == length, "an array has the wrong length")
        return self.skip(stored * np.dtype(dtype).itemsize).view(dtype)

    def head(self, fourcc: bytes, width: int, count: int) -> None:
        """Read and check the header of an index, or of an index inside another index."""
        is_right = Header.parse(self.skip(SIZE).tobytes()) == Header(fourcc, width, count, True)
        _require(is_right, "the header does not match the manifest")


def _codes(walk: _FileCursor, kind: str, width: int, names: int, _is_new: bool) -> None:
    """Check an index that consists only of vector codes."""
    walk.head(KINDS[kind].fourcc, width, names)
    if kind == "flat":
        walk.vector("<f4", width * names)
        return
    code = _ITEM[kind] * width
    quantizer = struct.pack("<iifQQ", _TYPES[kind], 0, 0.0, width, code)
    _require(walk.skip(len(quantizer)).tobytes() == quantizer, "the quantizer has wrong parameters")
    walk.vector("<f4", 2 * width if KINDS[kind].sample else 0)
    walk.vector("u1", code * names)


def _graph(walk: _FileCursor, kind: str, width: int, names: int, is_new: bool) -> None:
    """Check an HNSW graph, then the vectors of its nodes."""
    walk.head(KINDS[kind].fourcc, width, names)
    shares, room = _levels()
    _require(np.allclose(walk.vector("<f8", len(shares)), shares, rtol=1e-6), "the graph has wrong level probabilities")
    _require(walk.vector("<i4", len(room)).tolist() == room, "the graph has a wrong number of neighbours per level")
    levels, offsets, neighbours = walk.vector("<i4", names), walk.vector("<u8", names + 1), walk.vector("<i4")
    _require(offsets[0] == 0 and int(offsets[-1]) == len(neighbours), "the graph has wrong neighbour offsets")
    entry, top, build_effort, effort, _ = walk.numbers("iiiii")
    _require(0 < build_effort <= _MAX_EFFORT and 0 < effort <= _MAX_EFFORT, "efConstruction or efSearch is out of range")
    is_entry = (0 <= entry < names and 0 <= top < len(shares)) if names else (entry, top) == (-1, -1)
    _require(is_entry, "the entry point of the graph is out of range")
    if names:
        _require(int(levels[entry]) == top + 1, "the entry point of the graph is not on the top level")
    _require_neighbours(levels, offsets, neighbours, np.array(room))
    _codes(walk, "sq8", width, names, is_new)


def _levels() -> tuple[list[float], list[int]]:
    """Return the probability of each graph level, and the total number of neighbours below each, as FAISS defines them.

    >>> [round(share, 4) for share in _levels()[0][:2]], _levels()[1]
    ([0.9688, 0.0303], [0, 64, 96, 128, 160, 192, 224])
    """
    scale = 1 / math.log(LINKS)
    shares: list[float] = []
    while (share := math.exp(-len(shares) / scale) * (1 - math.exp(-1 / scale))) >= _PROBABLE:
        shares.append(share)
    return shares, [0, *(LINKS * (level + 2) for level in range(len(shares)))]


def _require_neighbours(
    levels: npt.NDArray[Any], offsets: npt.NDArray[Any], neighbours: npt.NDArray[Any], room: npt.NDArray[np.int64]
) -> None:
    """Check that each neighbour exists on the level where it is listed. Otherwise, a search would read invalid memory."""
    names = len(levels)
    if not names:
        return
    _require(levels.min() >= 1 and levels.max() < len(room), "the level of a name is out of range")
    _require(np.array_equal(np.diff(offsets.astype(np.int64)), room[levels]), "a name has wrong neighbour offsets")
    for start in range(0, len(neighbours), _AT_ONCE):
        part = neighbours[start : start + _AT_ONCE]
        _require(part.min() >= -1 and part.max() < names, "a neighbour does not exist")
    above = np.flatnonzero(levels > 1)
    for level in range(1, len(room) - 1):
        above = above[levels[above] > level]
        starts = offsets[above].astype(np.int64)[:, None]
        there = neighbours[starts + np.arange(room[level], room[level + 1])]
        _require(bool((levels[there[there >= 0]] > level).all()), "a neighbour is listed on a level that it does not reach")


def _lists(walk: _FileCursor, kind: str, width: int, names: int, is_new: bool) -> None:
    """Check inverted lists: the list centres, the codebook of the product quantizer, and then each list."""
    lists, codes, bits = lists_of(names), codes_per_vector(width, KINDS[kind].group), code_bits(names)
    code = (codes * bits + 7) // 8
    walk.head(KINDS[kind].fourcc, width, names)
    _require(walk.numbers("Q") == (lists,), "the index has a wrong number of lists")
    _require(1 <= walk.numbers("Q")[0] <= lists, "nprobe is out of range")
    _codes(walk, "flat", width, lists, is_new)
    _require(walk.numbers("bQ") == (0, 0), "the index has an unexpected direct map")
    _require(walk.numbers("BQQQQ") == (1, code, width, codes, bits), "the product quantizer has wrong parameters")
    walk.vector("<f4", width << bits)
    _require(walk.numbers("4sQQ") == (b"ilar", lists, code), "the lists have wrong parameters")
    sizes = _sizes(walk, lists)
    _require(sum(sizes) == names, "the lists hold a wrong number of names")
    if not is_new:
        walk.skip(names * (code + 8))
        return
    is_listed = np.zeros(names, dtype=np.bool_)
    for length in sizes:
        walk.skip(length * code)
        ids = walk.skip(length * 8).view("<i8")
        _require(not length or (ids.min() >= 0 and ids.max() < names), "a list holds a name that does not exist")
        is_listed[ids] = True
    _require(bool(is_listed.all()), "a name is in no list")


def _sizes(walk: _FileCursor, lists: int) -> list[int]:
    """Return the length of each list; the sparse format stores only non-empty lists."""
    (form,) = walk.numbers("4s")
    if form == b"full":
        return [int(size) for size in walk.vector("<u8", lists)]
    _require(form == b"sprs", "the lists have an unknown format")
    pairs = walk.vector("<u8")
    _require(len(pairs) <= 2 * lists and len(pairs) % 2 == 0, "the table of lists has a wrong length")
    numbers = pairs[::2]
    _require(bool((numbers[:-1] < numbers[1:]).all() and (numbers < lists).all()), "a list number is out of range")
    return [int(size) for size in pairs[1::2]]


_STRUCTURES = {"hnsw": _graph, "ivfpq": _lists, "pq": _lists}
