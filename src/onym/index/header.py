"""The head of a FAISS file, read by ourselves before FAISS reads a byte of it."""

from __future__ import annotations

import struct
from dataclasses import dataclass

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


def streamed_head(empty: bytes, count: int, code_bytes: int, item_bytes: int) -> bytes:
    """Return the head of the file of an index of `count` codes, made of the file of the empty one.

    The file of an empty index ends with the length of its codes, 0; FAISS counts those of a flat one in numbers of 4 bytes.
    """
    items = count * code_bytes // item_bytes
    return empty[:_COUNT_AT] + struct.pack("<q", count) + empty[_COUNT_AT + 8 : -8] + struct.pack("<Q", items)
