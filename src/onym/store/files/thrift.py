"""Thrift's compact protocol, as far as it takes to measure a Parquet file before a parser makes anything of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TRUE, _FALSE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 8, 9, 10, 12
_INTEGERS = frozenset({4, 5, 6})
_SIZES = {3: 1, 7: 8}  # a byte, a double; Parquet has no maps
_NEVER = 1 << 62
_MAX_DEPTH = 16
_MAX_FIELDS = 64  # of a struct that is read; Parquet's largest has 17
Wanted = Mapping[int, "Wanted"]
"""The ids of the fields that are wanted of a struct, and for each what is wanted of the structs in it."""


class ThriftError(ValueError):
    """The bytes are no struct of the protocol, or not a whole one."""


class TooManyStructsError(ThriftError):
    """There are more structs than asked for."""


class ThriftReader:
    """Reads one struct after the other.

    >>> ThriftReader(bytes([0x15, 0x06, 0x18, 0x01, 0x61, 0x00])).struct()
    {1: 3, 2: b'a'}
    """

    def __init__(self, data: bytes) -> None:
        self._data, self.position = data, 0
        self._counted, self._down_to, self._limit = 0, -1, 0  # nothing is counted

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the numbers, strings and structs of a struct by their field ids; the members of lists are left out."""
        data, position = self._data, self.position
        found: dict[int, Any] = {}
        field_id = 0
        try:
            while kind := (head := data[position]) & 15:
                self.position = position + 1
                field_id = field_id + (head >> 4) if head > 15 else self._zigzag()
                found[field_id] = self._value(kind, depth)
                position = self.position
                if len(found) > _MAX_FIELDS:
                    raise ThriftError
        except IndexError as e:
            raise ThriftError from e
        self.position = position + 1
        return found

    def fields(self, wanted: Wanted, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a struct that are wanted, lists with their members; all others are passed over.

        >>> ThriftReader(bytes([0x15, 0x06, 0x19, 0x25, 0x02, 0x04, 0x00])).fields({2: {}})
        {2: [1, 2]}
        """
        found: dict[int, Any] = {}
        field_id = 0
        try:
            while kind := (head := self._byte()) & 15:
                field_id = field_id + (head >> 4) if head > 15 else self._zigzag()
                if field_id in wanted:
                    found[field_id] = self._wanted(kind, wanted[field_id], depth)
                else:
                    self._pass(kind, depth + 1)
        except IndexError as e:
            raise ThriftError from e
        return found

    def _wanted(self, kind: int, wanted: Wanted, depth: int) -> Any:
        if kind == _LIST:
            count, kind = self._list_head()
            return [self._wanted(kind, wanted, depth) for _ in range(count)]
        if kind == _STRUCT:
            return self.fields(wanted, depth + 1)
        if kind in _INTEGERS:
            return self._zigzag()
        raise ThriftError

    def require_few(self, limit: int, down_to: int) -> None:
        """Pass over a struct, and refuse more than `limit` structs at most `down_to` deep in it."""
        self._counted, self._down_to, self._limit = -1, down_to, limit
        try:
            self._pass_struct(0)
        except IndexError as e:
            raise ThriftError from e

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._zigzag()
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind == _STRUCT and depth < _MAX_DEPTH:
            return self.struct(depth + 1)
        self._pass(kind, depth)
        return None

    def _pass(self, kind: int, depth: int) -> None:
        if kind == _STRUCT:
            self._pass_struct(depth)
        elif kind == _BINARY:
            self._skip(self._varint())
        elif kind in (_LIST, _SET):
            self._pass_list(depth)
        elif kind in _INTEGERS:
            self._varint()
        elif kind not in (_TRUE, _FALSE):
            self._skip(_SIZES.get(kind, _NEVER))

    def _pass_struct(self, depth: int) -> None:
        """Pass over a struct; whole numbers, of which a footer has most, without a call."""
        if depth <= self._down_to:
            self._counted += 1
            if self._counted > self._limit:
                raise TooManyStructsError
        if depth > _MAX_DEPTH:
            raise ThriftError
        data, position = self._data, self.position
        while kind := (head := data[position]) & 15:
            position += 1
            if head < 16:
                position = self._after_varint(position)
            if kind in _INTEGERS:
                if data[position] >= 128:
                    position = self._after_varint(position)
                else:
                    position += 1
            else:
                self.position = position
                self._pass(kind, depth + 1)
                position = self.position
        self.position = position + 1

    def _after_varint(self, position: int) -> int:
        while self._data[position] >= 128:
            position += 1
        return position + 1

    def _list_head(self) -> tuple[int, int]:
        """Return how many members a list has, and of what kind they are."""
        head = self._byte()
        return self._varint() if head >> 4 == 15 else head >> 4, head & 15

    def _pass_list(self, depth: int) -> None:
        count, kind = self._list_head()
        if depth > _MAX_DEPTH:
            raise ThriftError
        if kind in (_TRUE, _FALSE):
            self._skip(count)  # in a list each takes a byte
            return
        for _ in range(count):
            self._pass(kind, depth if kind == _STRUCT else depth + 1)

    def _skip(self, size: int) -> None:
        if self.position + size > len(self._data):
            raise ThriftError
        self.position += size

    def _byte(self) -> int:
        self.position += 1
        return self._data[self.position - 1]

    def _bytes(self, size: int) -> bytes:
        self._skip(size)
        return self._data[self.position - size : self.position]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ThriftError

    def _zigzag(self) -> int:
        byte = self._data[self.position]
        if byte < 128:
            self.position += 1
            return byte >> 1 ^ -(byte & 1)
        value = self._varint()
        return value >> 1 ^ -(value & 1)
