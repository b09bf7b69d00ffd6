"""What a Parquet file says of its columns in its footer, read before and beside Arrow.

Arrow ends the process, instead of raising, when it is asked about a column whose description is damaged: it is not asked.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import Any, BinaryIO

from onym.errors import InputError, LimitError
from onym.store.files.thrift import ThriftError, ThriftReader, TooManyStructsError, Wanted
from onym.store.limits import KIB, MIB

_FOOTER, _SMALL_FOOTER = 4 * MIB, 64 * KIB
_STRUCTS = 100_000  # columns and row groups times columns; some 1,400 bytes of memory each
_COLUMN_CHUNK = 2  # how deep it lies in a footer: below a row group
_MAGICS = (b"PAR1", b"PARE")  # with which a file ends, and one whose footer is encrypted
# The fields of the format's own description: row groups, the columns of one, how they are stored.
_GROUPS, _COLUMNS, _ROWS, _STORED = 4, 1, 3, 3
_ENCODINGS, _VALUES, _PACKED, _DATA, _DICTIONARY = 2, 5, 7, 9, 11
_COLUMN: Wanted = {field: {} for field in (_ENCODINGS, _VALUES, _PACKED, _DATA, _DICTIONARY)}
_FILE: Wanted = {_GROUPS: {_COLUMNS: {_STORED: _COLUMN}, _ROWS: {}}}


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """One column of one row group: where it begins and ends, how many values it has, and how they are encoded."""

    start: int
    end: int
    values: int
    encodings: frozenset[int]

    @classmethod
    def of(cls, stored: dict[int, Any]) -> ColumnChunk:
        """Return the column of a description; a dictionary stands before the data."""
        start, packed, values = int(stored[_DATA]), int(stored[_PACKED]), int(stored[_VALUES])
        if min(start, packed, values) < 0:
            raise ThriftError
        dictionary = int(stored.get(_DICTIONARY, 0))
        start = dictionary if 0 < dictionary < start else start
        return cls(start, start + packed, values, frozenset(stored[_ENCODINGS]))


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Some rows of a file, column by column."""

    rows: int
    columns: tuple[ColumnChunk, ...]


def read_row_groups(file: BinaryIO, name: str) -> list[RowGroup]:
    """Return the row groups of a file; a footer that is large, or larger than it looks, or damaged is refused."""
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
        what = f"the footer has more than {_STRUCTS:,} columns of row groups"
        raise LimitError("limit-record", what, where=name, fix="use larger row groups") from e
    except (ThriftError, AttributeError, LookupError, TypeError) as e:  # a field is missing, or is of another kind
        raise InputError("parquet-malformed", "the footer is damaged", where=name, fix="write it again") from e


def _footer(file: BinaryIO, name: str) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    tail = file.read(8)
    length = struct.unpack("<I", tail[:4])[0] if tail[4:] in _MAGICS else 0
    if length > _FOOTER:
        what = f"the footer is larger than {_FOOTER:,} bytes"
        raise LimitError("limit-record", what, where=name, fix="use larger row groups")
    if not tail.endswith(_MAGICS[0]) or length + 12 > size:
        raise InputError("parquet-malformed", "not a whole Parquet file", where=name, fix="write it again")
    file.seek(size - 8 - length)
    return file.read(length)
