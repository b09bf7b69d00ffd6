"""What a Parquet file would make a reader hold, found in its footer and page headers before anything is decoded.

A few bytes can stand for very much: a page that is packed well, a dictionary value that many rows share, levels of rows
without values, a footer of empty structs. What the headers say is what the reader makes room for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from onym.errors import InputError, LimitError
from onym.store.files.parquet_footer import ColumnChunk, RowGroup
from onym.store.files.thrift import ThriftError, ThriftReader
from onym.store.limits import KIB, MIB

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_ROWS = 16_384  # to decode at once, at most
_HEADERS = (KIB, 64 * KIB)  # how much is read for a page header, and how much for one with long statistics
_PAGES = 10_000  # of one column
_AT_ONCE = 16 * MIB  # to decode, wished
_DICTIONARY = 2  # the kind of a page
# Where the header of each kind of page with values has its own part, and where that says the encoding.
_PARTS = {0: (5, 2), _DICTIONARY: (7, 2), 3: (8, 4)}
_SHARED_PREFIXES = 7  # DELTA_BYTE_ARRAY: a value may repeat all of the one before it
_NO_DICTIONARY = {6, 7}  # DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY: text that Arrow cannot read as dictionaries
_VALUE = 36  # bytes of memory for one value besides its text: levels, offsets, an index or a number


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
        """The paths of the columns of text to be read as dictionaries."""

    def rows_at_once(self, group: RowGroup) -> int:
        """Return how many rows of a row group can be decoded at once, or refuse it."""
        chunks = [self._chunk(group, column) for column in self._columns]
        rows = _ROWS
        while rows > 1 and sum(chunk.at_once(rows) for chunk in chunks) > _AT_ONCE:
            rows //= 4
        if sum(chunk.buffered + chunk.at_once(rows) for chunk in chunks) > self._limit:
            what = f"a row group takes more than {self._limit:,} bytes to decode"
            raise LimitError("limit-record", what, where=self._name, fix="write it again with smaller row groups")
        return rows

    def _chunk(self, group: RowGroup, column: int) -> _Chunk:
        chunk = _Chunk(column in self._nested, column in self._expanded)
        for page in islice(self._pages(group.columns[column]), _PAGES):
            if page.kind in _PARTS:
                chunk.add(page)
        if len(chunk.sizes) == _PAGES:
            what = f"a column of a row group has {_PAGES:,} pages or more"
            raise LimitError("limit-record", what, where=self._name, fix="write it again with larger pages")
        return chunk

    def _pages(self, chunk: ColumnChunk) -> Iterator[_Page]:
        """Yield the pages that the reader will read, until the chunk has all of its values."""
        position, missing = chunk.start, chunk.values
        while missing > 0 and position < chunk.end:
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
