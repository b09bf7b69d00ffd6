"""The structure of a FAISS file, walked by ourselves before FAISS reads it: every length, and every number that is an id.

What FAISS would follow blindly is proved to stay inside: that lists are as long as they say, that neighbours in a graph exist
on the level where they are named, that ids are those of names. The numbers that vectors are made of may be any.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.index.kinds import KINDS, LINKS, code_bits, codes_per_vector, lists_of

_HEAD = struct.Struct("<4siqqqBi")  # its kind, width, count, two numbers of no meaning, whether it has learnt, and the metric
_COUNT_AT = 8
_INNER_PRODUCT = 0


@dataclass(frozen=True, slots=True)
class Header:
    """What the head says; `is_ready` of an index that has learnt what it has to and finds by the inner product."""

    fourcc: bytes
    width: int
    count: int
    is_ready: bool

    @classmethod
    def parse(cls, data: bytes) -> Header | None:
        """Read the head of a file; None where it is too short for one.

        >>> Header.parse(b"IxFI") is None
        True
        """
        if len(data) < _HEAD.size:
            return None
        fourcc, width, count, _, _, has_learnt, metric = _HEAD.unpack_from(data)
        return cls(fourcc, width, count, has_learnt == 1 and metric == _INNER_PRODUCT)


SIZE = _HEAD.size


def make_stream_head(empty: bytes, count: int, code_bytes: int, item_bytes: int) -> bytes:
    """Return the head of the file of an index of `count` codes, made of the file of the empty one.

    The file of an empty index ends with the length of its codes, 0; FAISS counts those of a flat one in numbers of 4 bytes.
    """
    items = count * code_bytes // item_bytes
    return empty[:_COUNT_AT] + struct.pack("<q", count) + empty[_COUNT_AT + 8 : -8] + struct.pack("<Q", items)


Bytes = npt.NDArray[np.uint8]
_PROBABLE = 1e-9  # of a level of the graph; less probable ones are not there
_MAX_EFFORT = 1_000_000
_AT_ONCE = 250_000  # numbers looked at: they stay in the cache
_TYPES = {"flat16": 4, "sq8": 0}  # of a scalar quantizer, as FAISS numbers them
_ITEM = {"flat": 4, "flat16": 2, "sq8": 1}  # bytes of a number


def problem_of(data: Bytes, kind: str, width: int, names: int, *, is_new: bool) -> str:
    """Return what is wrong with the file of an index, or nothing.

    Lengths, constants and neighbours are looked at each time; with `is_new` every id in a list is as well, which takes one
    pass over them: of a list that holds another id, a search says so.

    >>> problem_of(np.zeros(10, dtype=np.uint8), "flat", 16, 3, is_new=True)
    'the file is shorter than it says'
    """
    walk = _FileCursor(data)
    try:
        _STRUCTURES.get(kind, _codes)(walk, kind, width, names, is_new)
        _require(walk.at == len(data), "the file is longer than it says")
    except _Wrong as e:
        return e.what
    return ""


class _Wrong(Exception):  # noqa: N818 - it never leaves this file
    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def _require(is_so: bool, what: str) -> None:
    if not is_so:
        raise _Wrong(what)


class _FileCursor:
    """An offset in the file, which moves on as the file is read."""

    def __init__(self, data: Bytes) -> None:
        self._data, self.at = data, 0

    def numbers(self, layout: str) -> tuple[Any, ...]:
        """Read numbers of fixed sizes, as `struct` describes them."""
        one = struct.Struct(f"<{layout}")
        return one.unpack(self.skip(one.size).tobytes())

    def skip(self, count: int) -> Bytes:
        """Pass over so many bytes, without a copy."""
        _require(0 <= count <= len(self._data) - self.at, "the file is shorter than it says")
        found = self._data[self.at : self.at + count]
        self.at += count
        return found

    def vector(self, dtype: str, length: int | None = None) -> npt.NDArray[Any]:
        """Read a vector, its length first, which has to be `length` where one is given."""
        (said,) = self.numbers("Q")
        _require(length is None or said == length, "a vector of the file is of another length than it has to be")
        return self.skip(said * np.dtype(dtype).itemsize).view(dtype)

    def head(self, fourcc: bytes, width: int, count: int) -> None:
        """Read the head of an index, or of one inside another."""
        _require(Header.parse(self.skip(SIZE).tobytes()) == Header(fourcc, width, count, True), "a head says something else")


def _codes(walk: _FileCursor, kind: str, width: int, names: int, _is_new: bool) -> None:
    """Walk along an index that is nothing but the codes of its vectors."""
    walk.head(KINDS[kind].fourcc, width, names)
    if kind == "flat":
        walk.vector("<f4", width * names)
        return
    code = _ITEM[kind] * width
    quantizer = struct.pack("<iifQQ", _TYPES[kind], 0, 0.0, width, code)
    _require(walk.skip(len(quantizer)).tobytes() == quantizer, "the quantizer is another one")
    walk.vector("<f4", 2 * width if KINDS[kind].sample else 0)
    walk.vector("u1", code * names)


def _graph(walk: _FileCursor, kind: str, width: int, names: int, is_new: bool) -> None:
    """Walk along a graph, and then along the vectors that its nodes stand for."""
    walk.head(KINDS[kind].fourcc, width, names)
    shares, room = _levels()
    _require(np.allclose(walk.vector("<f8", len(shares)), shares, rtol=1e-6), "the levels of the graph are others")
    _require(walk.vector("<i4", len(room)).tolist() == room, "the graph has room for another number of neighbours")
    levels, offsets, neighbours = walk.vector("<i4", names), walk.vector("<u8", names + 1), walk.vector("<i4")
    _require(offsets[0] == 0 and int(offsets[-1]) == len(neighbours), "the graph does not end where it says")
    entry, top, build_effort, effort, _ = walk.numbers("iiiii")
    _require(0 < build_effort <= _MAX_EFFORT and 0 < effort <= _MAX_EFFORT, "the graph is to be searched without end")
    _require((0 <= entry < names and 0 <= top < len(shares)) if names else (entry, top) == (-1, -1), "the graph has no entry")
    if names:
        _require(int(levels[entry]) == top + 1, "the graph is entered on a level that is not there")
    _require_neighbours(levels, offsets, neighbours, np.array(room))
    _codes(walk, "sq8", width, names, is_new)


def _levels() -> tuple[list[float], list[int]]:
    """Return how probable each level of a graph is, and for how many neighbours there is room up to each, as FAISS has it.

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
    """Require that each neighbour is a name that is there on the level where it is a neighbour: else a search runs astray."""
    names = len(levels)
    if not names:
        return
    _require(levels.min() >= 1 and levels.max() < len(room), "a name is on a level that is not there")
    _require(np.array_equal(np.diff(offsets.astype(np.int64)), room[levels]), "the neighbours of a name begin elsewhere")
    for start in range(0, len(neighbours), _AT_ONCE):
        part = neighbours[start : start + _AT_ONCE]
        _require(part.min() >= -1 and part.max() < names, "a neighbour does not exist")
    above = np.flatnonzero(levels > 1)
    for level in range(1, len(room) - 1):
        above = above[levels[above] > level]
        starts = offsets[above].astype(np.int64)[:, None]
        there = neighbours[starts + np.arange(room[level], room[level + 1])]
        _require(bool((levels[there[there >= 0]] > level).all()), "a neighbour is not on the level where it is named")


def _lists(walk: _FileCursor, kind: str, width: int, names: int, is_new: bool) -> None:
    """Walk along lists of codes: the centres of the lists, what codes stand for, and then each list."""
    lists, codes, bits = lists_of(names), codes_per_vector(width, KINDS[kind].group), code_bits(names)
    code = (codes * bits + 7) // 8
    walk.head(KINDS[kind].fourcc, width, names)
    _require(walk.numbers("Q") == (lists,), "the index has another number of lists")
    _require(1 <= walk.numbers("Q")[0] <= lists, "more lists are to be looked into than there are")
    _codes(walk, "flat", width, lists, is_new)
    _require(walk.numbers("bQ") == (0, 0), "the index has a map of its own")
    _require(walk.numbers("BQQQQ") == (1, code, width, codes, bits), "the quantizer is another one")
    walk.vector("<f4", width << bits)
    _require(walk.numbers("4sQQ") == (b"ilar", lists, code), "the lists are others")
    sizes = _sizes(walk, lists)
    _require(sum(sizes) == names, "the lists do not hold the names")
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
    """Return how long each list is; where most are empty, the file names only the others."""
    (form,) = walk.numbers("4s")
    if form == b"full":
        return [int(size) for size in walk.vector("<u8", lists)]
    _require(form == b"sprs", "the lists are others")
    pairs = walk.vector("<u8")
    _require(len(pairs) <= 2 * lists and len(pairs) % 2 == 0, "the lists are others")
    numbers = pairs[::2]
    _require(bool((numbers[:-1] < numbers[1:]).all() and (numbers < lists).all()), "a list is not there")
    return [int(size) for size in pairs[1::2]]


_STRUCTURES = {"hnsw": _graph, "ivfpq": _lists, "pq": _lists}
