"""Checks a Parquet file before Arrow reads it: its footer and page headers (Thrift), and the decoded size of its pages.

Column metadata is parsed here because Arrow aborts the process, instead of raising, if it is damaged.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from onym.errors import InputError, LimitError
from onym.store.limits import KIB, MIB

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_TRUE, _FALSE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 8, 9, 10, 12
_INTEGERS = frozenset({4, 5, 6})
_SIZES = {3: 1, 7: 8}  # bytes per value of the types byte (3) and double (7); Parquet uses no Thrift maps
_NEVER = 1 << 62
_MAX_DEPTH = 16
_MAX_FIELDS = 64  # maximum fields of a struct; the largest struct of the Parquet format has 17
Wanted = Mapping[int, "Wanted"]
"""The ids of the fields to read from a struct; each maps to the fields to read from nested structs."""


class ThriftError(ValueError):
    """The bytes are not a valid, complete Thrift struct."""


class TooManyStructsError(ThriftError):
    """The number of structs exceeds the limit."""


class ThriftReader:
    """Reads consecutive structs of Thrift's compact protocol.

    >>> ThriftReader(bytes([0x15, 0x06, 0x18, 0x01, 0x61, 0x00])).struct()
    {1: 3, 2: b'a'}
    """

    def __init__(self, data: bytes) -> None:
        self._data, self.position = data, 0
        self._counted, self._down_to, self._limit = 0, -1, 0  # -1: structs are not counted until `require_few` is called

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read a struct; return its numbers, strings and nested structs by field id. Lists are skipped and returned as None."""
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
        """Read a struct; return the wanted fields, including lists with their items, and skip all other fields.

        >>> ThriftReader(bytes([0x15, 0x06, 0x19, 0x25, 0x02, 0x04, 0x00])).fields({2: {}})
        {2: [1, 2]}
        """
        found: dict[int, Any] = {}
        field_id = 0
        try:
            while kind := (head := self._byte()) & 15:
                field_id = field_id + (head >> 4) if head > 15 else self._zigzag()
                if field_id in wanted:
                    found[field_id] = self._read_wanted(kind, wanted[field_id], depth)
                else:
                    self._pass(kind, depth + 1)
        except IndexError as e:
            raise ThriftError from e
        return found

    def _read_wanted(self, kind: int, wanted: Wanted, depth: int) -> Any:
        if kind == _LIST:
            count, kind = self._list_head()
            return [self._read_wanted(kind, wanted, depth) for _ in range(count)]
        if kind == _STRUCT:
            return self.fields(wanted, depth + 1)
        if kind in _INTEGERS:
            return self._zigzag()
        raise ThriftError

    def require_few(self, limit: int, down_to: int) -> None:
        """Skip a struct; raise if it contains more than `limit` structs at a depth of at most `down_to`."""
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
        """Skip a struct. Integers, the most common fields of a footer, are skipped without a function call."""
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
        """Return the length of a list and the type of its items."""
        head = self._byte()
        return self._varint() if head >> 4 == 15 else head >> 4, head & 15

    def _pass_list(self, depth: int) -> None:
        count, kind = self._list_head()
        if depth > _MAX_DEPTH:
            raise ThriftError
        if kind in (_TRUE, _FALSE):
            self._skip(count)  # each boolean in a list takes a byte
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


_FOOTER, _SMALL_FOOTER = 4 * MIB, 64 * KIB  # bytes: the maximum, and the size from which structs are counted
_STRUCTS = 100_000  # maximum number of columns plus column chunks; each takes about 1,400 bytes of memory
_COLUMN_CHUNK = 2  # nesting depth of a column chunk in the footer: file, row group, column chunk
_MAGICS = (b"PAR1", b"PARE")  # the last bytes of a file: with a normal footer, with an encrypted footer
# Field ids in parquet.thrift, of row groups and columns (first line) and of the metadata of a column chunk (second).
_GROUPS, _COLUMNS, _ROWS, _STORED = 4, 1, 3, 3
_ENCODINGS, _VALUES, _PACKED, _DATA, _DICTIONARY = 2, 5, 7, 9, 11
_COLUMN: Wanted = {field: {} for field in (_ENCODINGS, _VALUES, _PACKED, _DATA, _DICTIONARY)}
_FILE: Wanted = {_GROUPS: {_COLUMNS: {_STORED: _COLUMN}, _ROWS: {}}}


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """One column of one row group: its byte range, number of values, and encodings."""

    start: int
    end: int
    values: int
    encodings: frozenset[int]

    @classmethod
    def of(cls, stored: dict[int, Any]) -> ColumnChunk:
        """Build a column chunk from its metadata. A dictionary page, if there is one, precedes the data pages."""
        start, packed, values = int(stored[_DATA]), int(stored[_PACKED]), int(stored[_VALUES])
        if min(start, packed, values) < 0:
            raise ThriftError
        dictionary = int(stored.get(_DICTIONARY, 0))
        start = dictionary if 0 < dictionary < start else start
        return cls(start, start + packed, values, frozenset(stored[_ENCODINGS]))


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group: its number of rows and its column chunks."""

    rows: int
    columns: tuple[ColumnChunk, ...]


def read_row_groups(file: BinaryIO, name: str) -> list[RowGroup]:
    """Return the row groups of a file; reject a footer that is damaged, too large or has too many structs."""
    data = _footer(file, name)
    try:
        if len(data) >= _SMALL_FOOTER:
            ThriftReader(data).require_few(_STRUCTS, _COLUMN_CHUNK)
        groups = ThriftReader(data).fields(_FILE)[_GROUPS]
        return [
            RowGroup(int(group[_ROWS]), tuple(ColumnChunk.of(column[_STORED]) for column in group[_COLUMNS]))
            for group in groups
        ]
    except TooManyStructsError as e:
        what = f"the footer has more than {_STRUCTS:,} column chunks"
        raise LimitError("limit-record", what, where=name, fix="write the file again with larger row groups") from e
    except (ThriftError, AttributeError, LookupError, TypeError) as e:  # a field is missing or has the wrong type
        raise InputError("parquet-malformed", "the footer is damaged", where=name, fix="write the file again") from e


def _footer(file: BinaryIO, name: str) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    tail = file.read(8)
    length = struct.unpack("<I", tail[:4])[0] if tail[4:] in _MAGICS else 0
    if length > _FOOTER:
        what = f"the footer is larger than {_FOOTER:,} bytes"
        raise LimitError("limit-record", what, where=name, fix="write the file again with larger row groups")
    if not tail.endswith(_MAGICS[0]) or length + 12 > size:
        raise InputError("parquet-malformed", "damaged Parquet file", where=name, fix="write the file again")
    file.seek(size - 8 - length)
    return file.read(length)


_ROWS_AT_ONCE = 16_384  # maximum rows to decode per batch
_HEADERS = (KIB, 64 * KIB)  # bytes to read for a page header: first 1 KiB, then 64 KiB if its statistics do not fit
_PAGES = 10_000  # maximum pages of one column chunk
_AT_ONCE = 16 * MIB  # target bytes to decode per batch
_DICTIONARY_PAGE = 2  # Parquet's number for this page type
# For each page type with values: the field id of its type-specific header, and the field id of the encoding in that header.
_PARTS = {0: (5, 2), _DICTIONARY_PAGE: (7, 2), 3: (8, 4)}
_SHARED_PREFIXES = 7  # the encoding DELTA_BYTE_ARRAY, where a value may repeat all of the previous value
_NO_DICTIONARY = {6, 7}  # encodings of text that Arrow cannot read as dictionaries: DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY
_VALUE = 36  # upper bound of the bytes that a decoded value needs besides its text: levels, offset, and an index or a number


@dataclass(frozen=True)
class _Page:
    """A page header. `values` counts nulls too, and is 0 for pages that contain no values."""

    kind: int
    packed: int
    size: int
    values: int
    encoding: int

    @classmethod
    def of(cls, header: dict[int, Any]) -> _Page:
        """Build a page from its parsed header; raise ThriftError if a size is missing or negative."""
        part, encoding = _PARTS.get(header.get(1, -1), (0, 0))
        own = header.get(part, {})
        page = cls(header.get(1, -1), header.get(3, -1), header.get(2, -1), own.get(1, 0), own.get(encoding, -1))
        if min(page.packed, page.size, page.values) < 0:
            raise ThriftError
        return page


@dataclass
class _Chunk:
    """The page sizes of one column chunk."""

    is_nested: bool
    is_expanded: bool  # in memory, each row has a copy of its value instead of a dictionary index
    dictionary: int = 0
    packed: int = 0  # compressed size of the largest page
    repeated: int = 0  # upper bound, in bytes, for a value that may be decoded again for many rows
    sizes: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)

    def add(self, page: _Page) -> None:
        self.packed = max(self.packed, page.packed)
        if page.kind == _DICTIONARY_PAGE:
            self.dictionary += page.size + _VALUE * page.values
            self.repeated = max(self.repeated, page.size if self.is_expanded else 0)
            return
        self.sizes.append(page.size)
        self.values.append(page.values)
        if page.encoding == _SHARED_PREFIXES:
            self.repeated = max(self.repeated, page.size)

    @property
    def buffer_bytes(self) -> int:
        """Bytes in memory while rows are read: one page, both compressed and decompressed, and the dictionary twice."""
        return self.packed + max(self.sizes, default=0) + 2 * self.dictionary

    def at_once(self, rows: int) -> int:
        """Maximum bytes needed to decode `rows` consecutive rows. In a nested column, a single row may have all values."""
        if not self.sizes:
            return 0
        if self.is_nested:
            return sum(self.sizes) + (_VALUE + self.repeated) * sum(self.values)
        ends, total = np.cumsum(self.values), np.concatenate(([0], np.cumsum(self.sizes)))
        after = np.searchsorted(
            ends - self.values, ends + rows - 1
        )  # for each start page: the page after the last one that `rows` rows can reach
        return int((total[after] - total[:-1]).max()) + rows * (_VALUE + self.repeated)


class PageSizes:
    """Computes from the page headers how many rows of the given columns can be decoded at once."""

    def __init__(
        self,
        file: BinaryIO,
        name: str,
        schema: pq.ParquetSchema,
        groups: Sequence[RowGroup],
        *,
        columns: Sequence[int],
        limit: int,
    ) -> None:
        self._file, self._name, self._columns, self._limit = file, name, columns, limit
        texts = {column for column in columns if schema.column(column).physical_type == "BYTE_ARRAY"}
        self._nested = {column for column in columns if schema.column(column).max_repetition_level > 0}
        self._expanded = {
            column for column in texts if any(group.columns[column].encodings & _NO_DICTIONARY for group in groups)
        }
        self.as_dictionaries = [schema.column(column).path for column in sorted(texts - self._expanded)]
        """Paths of the text columns to read as dictionaries."""

    def rows_at_once(self, group: RowGroup) -> int:
        """Return the number of rows of a row group to decode per batch; raise LimitError if decoding needs too much memory."""
        chunks = [self._chunk(group, column) for column in self._columns]
        rows = _ROWS_AT_ONCE
        while rows > 1 and sum(chunk.at_once(rows) for chunk in chunks) > _AT_ONCE:
            rows //= 4
        if sum(chunk.buffer_bytes + chunk.at_once(rows) for chunk in chunks) > self._limit:
            what = f"a row group takes more than {self._limit:,} bytes to decode"
            raise LimitError("limit-record", what, where=self._name, fix="write the file again with smaller row groups")
        return rows

    def _chunk(self, group: RowGroup, column: int) -> _Chunk:
        chunk = _Chunk(column in self._nested, column in self._expanded)
        for page in islice(self._pages(group.columns[column]), _PAGES):
            if page.kind in _PARTS:
                chunk.add(page)
        if len(chunk.sizes) == _PAGES:
            what = f"a column of a row group has {_PAGES:,} pages or more"
            raise LimitError("limit-record", what, where=self._name, fix="write the file again with larger pages")
        return chunk

    def _pages(self, chunk: ColumnChunk) -> Iterator[_Page]:
        """Yield the pages that Arrow will read, until they contain all values of the chunk."""
        position, missing = chunk.start, chunk.values
        while missing > 0 and position < chunk.end:
            page, size = self._page(position)
            yield page
            position += size + page.packed
            missing -= 0 if page.kind == _DICTIONARY_PAGE else page.values

    def _page(self, position: int) -> tuple[_Page, int]:
        """Return the page at a file position, and the size of its header in bytes."""
        for size in _HEADERS:
            self._file.seek(position)
            header = ThriftReader(self._file.read(size))
            try:
                return _Page.of(header.struct()), header.position
            except (ThriftError, AttributeError, TypeError):  # the header is truncated, or has a number instead of a struct
                continue
        raise InputError("parquet-malformed", "a page header is damaged", where=self._name, fix="write the file again")
