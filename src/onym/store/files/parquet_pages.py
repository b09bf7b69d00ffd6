"""What a Parquet file would make a reader hold, found in its footer and page headers before anything is decoded.

A few bytes can stand for very much: a page that is packed well, a dictionary value that many rows share, levels of rows
without values, a footer of empty structs. What the headers say is what the reader makes room for.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from onym.errors import InputError, LimitError
from onym.store.files.thrift import ThriftError, ThriftReader, TooManyStructsError
from onym.store.limits import KIB, MIB

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_ROWS = 16_384  # to decode at once, at most
_FOOTER, _SMALL_FOOTER = 4 * MIB, 64 * KIB
_FOOTER_STRUCTS = 100_000  # columns and row groups times columns; some 1,400 bytes of memory each
_COLUMN_CHUNK = 2  # how deep it lies in a footer: below a row group
_HEADERS = (KIB, 64 * KIB)  # how much is read for a page header, and how much for one with long statistics
_MAGICS = (b"PAR1", b"PARE")  # with which a file ends, and one whose footer is encrypted
_PAGES = 10_000  # of one column
_AT_ONCE = 16 * MIB  # to decode, wished
_DICTIONARY = 2  # the kind of a page
# Where the header of each kind of page with values has its own part, and where that says the encoding.
_PARTS = {0: (5, 2), _DICTIONARY: (7, 2), 3: (8, 4)}
_SHARED_PREFIXES = 7  # DELTA_BYTE_ARRAY: a value may repeat all of the one before it
_NO_DICTIONARY = {"DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"}  # encodings of text that Arrow cannot read as dictionaries
_VALUE = 36  # bytes of memory for one value besides its text: levels, offsets, an index or a number


def require_small_footer(file: BinaryIO, name: str) -> None:
    """Refuse a footer that is large, or larger than it looks."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    tail = file.read(8)
    length = struct.unpack("<I", tail[:4])[0] if tail[4:] in _MAGICS else 0
    if length > _FOOTER:
        raise LimitError(
            "limit-record", f"the footer is larger than {_FOOTER:,} bytes", where=name, fix="use larger row groups"
        )
    if length < _SMALL_FOOTER or length + 12 > size or not tail.endswith(_MAGICS[0]):
        return  # too small to do harm, or the reader says what is wrong
    file.seek(size - 8 - length)
    try:
        ThriftReader(file.read(length)).require_few(_FOOTER_STRUCTS, _COLUMN_CHUNK)
    except TooManyStructsError as e:
        what = f"the footer has more than {_FOOTER_STRUCTS:,} columns of row groups"
        raise LimitError("limit-record", what, where=name, fix="use larger row groups") from e
    except ThriftError as e:
        raise InputError("parquet-malformed", "the footer is damaged", where=name, fix="write it again") from e


def chunk_range(chunk: pq.ColumnChunkMetaData) -> tuple[int, int]:
    """Return where a column of a row group begins and ends, as the reader finds it."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    return start, start + chunk.total_compressed_size


@dataclass(frozen=True)
class _Page:
    """What a page header says; `values` counts nulls, and is 0 for a page without values."""

    kind: int
    packed: int
    size: int
    values: int
    encoding: int

    @classmethod
    def of(cls, header: dict[int, Any]) -> _Page:
        """Return the page of a header, or refuse one that says nothing or less."""
        part, encoding = _PARTS.get(header.get(1, -1), (0, 0))
        own = header.get(part, {})
        page = cls(header.get(1, -1), header.get(3, -1), header.get(2, -1), own.get(1, 0), own.get(encoding, -1))
        if min(page.packed, page.size, page.values) < 0:
            raise ThriftError
        return page


@dataclass
class _Chunk:
    """One column of one row group: the sizes of its pages."""

    is_nested: bool
    is_expanded: bool  # each row holds its value, not the number of one in a dictionary
    dictionary: int = 0
    packed: int = 0  # of the largest page
    repeated: int = 0  # as much as one value may take that other rows share
    sizes: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)

    def add(self, page: _Page) -> None:
        self.packed = max(self.packed, page.packed)
        if page.kind == _DICTIONARY:
            self.dictionary += page.size + _VALUE * page.values
            self.repeated = max(self.repeated, page.size if self.is_expanded else 0)
            return
        self.sizes.append(page.size)
        self.values.append(page.values)
        if page.encoding == _SHARED_PREFIXES:
            self.repeated = max(self.repeated, page.size)

    @property
    def buffered(self) -> int:
        """Bytes that stay while rows are read: the page, as packed and as unpacked, and the dictionary twice."""
        return self.packed + max(self.sizes, default=0) + 2 * self.dictionary

    def at_once(self, rows: int) -> int:
        """Bytes to decode any `rows` rows; in a nested column one of them may have all values."""
        if not self.sizes:
            return 0
        if self.is_nested:
            return sum(self.sizes) + (_VALUE + self.repeated) * sum(self.values)
        ends, total = np.cumsum(self.values), np.concatenate(([0], np.cumsum(self.sizes)))
        after = np.searchsorted(ends - self.values, ends + rows - 1)  # the pages that rows from each page on reach
        return int((total[after] - total[:-1]).max()) + rows * (_VALUE + self.repeated)


class PageSizes:
    """The pages of the columns that are wanted of a file."""

    def __init__(self, file: BinaryIO, name: str, metadata: pq.FileMetaData, columns: list[int], limit: int) -> None:
        self._file, self._name, self._metadata, self._columns, self._limit = file, name, metadata, columns, limit
        texts = {column for column in columns if metadata.schema.column(column).physical_type == "BYTE_ARRAY"}
        self._expanded = {column for column in texts if self._encodings(column) & _NO_DICTIONARY}
        self.as_dictionaries = [metadata.schema.column(column).path for column in sorted(texts - self._expanded)]
        """The paths of the columns of text to be read as dictionaries."""

    def _encodings(self, column: int) -> set[str]:
        groups = range(self._metadata.num_row_groups)
        return {encoding for group in groups for encoding in self._metadata.row_group(group).column(column).encodings}

    def rows_at_once(self, group: int) -> int:
        """Return how many rows of a row group can be decoded at once, or refuse it."""
        chunks = [self._chunk(group, column) for column in self._columns]
        rows = _ROWS
        while rows > 1 and sum(chunk.at_once(rows) for chunk in chunks) > _AT_ONCE:
            rows //= 4
        if sum(chunk.buffered + chunk.at_once(rows) for chunk in chunks) > self._limit:
            what = f"a row group takes more than {self._limit:,} bytes to decode"
            raise LimitError("limit-record", what, where=self._name, fix="write it again with smaller row groups")
        return rows

    def _chunk(self, group: int, column: int) -> _Chunk:
        chunk = _Chunk(self._metadata.schema.column(column).max_repetition_level > 0, column in self._expanded)
        for page in islice(self._pages(self._metadata.row_group(group).column(column)), _PAGES):
            if page.kind in _PARTS:
                chunk.add(page)
        if len(chunk.sizes) == _PAGES:
            what = f"a column of a row group has {_PAGES:,} pages or more"
            raise LimitError("limit-record", what, where=self._name, fix="write it again with larger pages")
        return chunk

    def _pages(self, chunk: pq.ColumnChunkMetaData) -> Iterator[_Page]:
        """Yield the pages that the reader will read, until the chunk has all of its values."""
        (position, end), missing = chunk_range(chunk), chunk.num_values
        while missing > 0 and position < end:
            page, size = self._page(position)
            yield page
            position += size + page.packed
            missing -= 0 if page.kind == _DICTIONARY else page.values

    def _page(self, position: int) -> tuple[_Page, int]:
        """Return the page at a position, and the size of its header."""
        for size in _HEADERS:
            self._file.seek(position)
            header = ThriftReader(self._file.read(size))
            try:
                return _Page.of(header.struct()), header.position
            except (ThriftError, AttributeError, TypeError):  # one that is cut off, or with a number where a struct should be
                continue
        raise InputError("parquet-malformed", "a page header is damaged", where=self._name, fix="write it again")
