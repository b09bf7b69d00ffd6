"""Reads and writes Parquet files in batches, in bounded memory. No other module reads Parquet files.

The memory needed is estimated from the headers first. Text columns are read as dictionaries, so that a repeated value is in
memory only once, and the size of the decoded rows is checked before they are created.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onym.errors import InputError, LimitError
from onym.store.files.source import InputFile
from onym.store.guards.parquet import PageSizes, RowGroup, read_row_groups
from onym.store.limits import DEFAULT_LIMITS, KIB, MIB, Limits

_ROWS, _BYTES = 256, 8 * MIB  # maximum rows and decoded bytes of a batch
_TABLE = 96 * MIB  # maximum bytes of a row group that is read as one table; its readers keep up to three copies
_CELL = 8  # bytes counted for each value, in addition to its text
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


class DecodedRows:
    """Decodes the rows of a file of `size` bytes, checking their decoded size against the limits."""

    def __init__(self, name: str, size: int, limits: Limits) -> None:
        self._name, self._size, self._limits = name, size, limits
        self._total = 0

    def of(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows in smaller batches, with dictionaries decoded."""
        for batch in batches:
            costs = sum((self._costs(column) for column in batch.columns), np.zeros(batch.num_rows, dtype=np.int64))
            if batch.num_rows and int(costs.max()) > 2 * self._limits.document_bytes:
                raise self._too_long()
            start = 0
            for end in _ends(costs):
                self._count(int(costs[start:end].sum()))
                yield _without_dictionaries(batch.slice(start, end - start))
                start = end

    def _count(self, size: int) -> None:
        self._total += size
        limits = self._limits
        if self._total > max(limits.ratio_grace_bytes, limits.ratio * self._size):
            what = f"unpacks to more than {limits.ratio} times its size, as a decompression bomb does"
            raise LimitError("limit-ratio", what, where=self._name)

    def _costs(self, array: pa.Array) -> npt.NDArray[np.int64]:
        """Return the decoded size of each row of an array, in bytes."""
        import pyarrow.compute as pc

        kind = array.type
        if pa.types.is_dictionary(kind):
            self._require_known(array)
            lengths = np.append(self._costs(array.dictionary), _CELL)  # the last entry, index -1, is for null
            shared: npt.NDArray[np.int64] = lengths[array.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
            return shared
        if pa.types.is_struct(kind):
            costs = np.full(len(array), _CELL, dtype=np.int64)
            for field in array.flatten():
                costs += self._costs(field)
            return costs
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            offsets = array.offsets.to_numpy()
            inner = self._costs(array.values.slice(offsets[0], offsets[-1] - offsets[0]))
            total: npt.NDArray[np.int64] = np.concatenate(([0], np.cumsum(inner)))
            ends: npt.NDArray[np.int64] = total[offsets - offsets[0]]
            return np.diff(ends) + _CELL
        if any(is_text(kind) for is_text in _TEXTS):
            own: npt.NDArray[np.int64] = pc.binary_length(array).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            if len(own) and int(own.max()) > self._limits.document_bytes:
                raise self._too_long()
            return own + _CELL
        if pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
            return np.full(len(array), _CELL, dtype=np.int64)
        what = f"a column has the type {kind}, which Onym does not read"
        raise InputError("parquet-columns", what, where=self._name, fix="write the column as text")

    def _require_known(self, array: pa.DictionaryArray) -> None:
        """Reject indices outside the dictionary: Arrow would read out of bounds."""
        import pyarrow.compute as pc

        numbers = pc.min_max(array.indices).as_py()
        if numbers["min"] is not None and not 0 <= numbers["min"] <= numbers["max"] < len(array.dictionary):
            what = "a dictionary index is out of range"
            raise InputError("parquet-malformed", what, where=self._name, fix="write the file again")

    def _too_long(self) -> LimitError:
        what = f"a document is longer than {self._limits.document_bytes:,} bytes"
        return LimitError("limit-record", what, where=self._name)


def _ends(costs: npt.NDArray[np.int64]) -> Iterator[int]:
    """Yield the end row of each batch of at most `_ROWS` rows and `_BYTES` bytes; a larger row gets its own batch."""
    total = np.cumsum(costs)
    start = 0
    while start < len(costs):
        before = int(total[start - 1]) if start else 0
        start = max(start + 1, min(start + _ROWS, int(np.searchsorted(total, before + _BYTES, side="right"))))
        yield start


def _without_dictionaries(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([_plain(column) for column in batch.columns], names=batch.schema.names)


def _plain(array: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    kind, is_null = array.type, array.is_null() if array.null_count else None
    if pa.types.is_dictionary(kind):
        return array.dictionary_decode()
    if pa.types.is_struct(kind):
        names = [kind.field(n).name for n in range(kind.num_fields)]
        return pa.StructArray.from_arrays([_plain(each) for each in array.flatten()], names=names, mask=is_null)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        offsets = array.offsets
        values = array.values.slice(offsets[0].as_py(), offsets[-1].as_py() - offsets[0].as_py())
        made = pa.ListArray if pa.types.is_list(kind) else pa.LargeListArray
        return made.from_arrays(pc.subtract(offsets, offsets[0]), _plain(values), mask=is_null)
    return array


_PACKED = 64 * MIB  # maximum bytes of a file that must be read into memory, such as an archive member
_MAX_COLUMNS = 4096
_MAGIC = b"PAR1"


def iter_parquet(file: InputFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet file; raise InputError if a column of `schema` is missing or has another type.

    Strings longer than the document limit are rejected, and batches have at most 256 rows.
    """
    with _seekable(file) as source, _translate(file.name):
        reader = ParquetReader(source, file.name, file.limits)
        for batches in reader.row_groups(schema):
            yield from batches


def read_parquet(file: InputFile) -> pa.Table:
    """Return all rows of a Parquet file, within the limits."""
    schema = parquet_schema(file)
    return _table(iter_parquet(file, schema), schema)


def parquet_schema(file: InputFile) -> pa.Schema:
    """Return the schema of a Parquet file."""
    with _seekable(file) as source, _translate(file.name):
        return ParquetReader(source, file.name, file.limits).schema


class ParquetReader:
    """Reads an open, seekable Parquet file within limits. `schema` has its columns, and `metadata` what its writer added.

    >>> file = io.BytesIO()
    >>> rows = pa.record_batch({"id": ["1", "2"]})
    >>> write_parquet(iter([rows]), rows.schema, file)
    >>> [table.num_rows for table in ParquetReader(file, "ids.parquet").tables(rows.schema)]
    [2]
    """

    def __init__(self, source: BinaryIO, name: str, limits: Limits = DEFAULT_LIMITS) -> None:
        import pyarrow.parquet as pq

        self._source, self._name, self._limits = source, name, limits
        with _translate(name):
            self._groups = read_row_groups(source, name)
            self._metadata = pq.read_metadata(source)
            if self._metadata.num_columns > _MAX_COLUMNS:
                raise InputError("parquet-columns", f"the file has more than {_MAX_COLUMNS:,} columns", where=name)
            self.schema: pa.Schema = self._metadata.schema.to_arrow_schema()
        self.metadata: dict[bytes, bytes] = self._metadata.metadata or {}

    def tables(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the rows of each row group as a table with the columns of `schema`."""
        with _translate(self._name):
            for batches in self.row_groups(schema):
                yield _table(self._bounded(batches), schema)

    def _bounded(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches; raise LimitError if together they are too large for one table."""
        size = 0
        for batch in batches:
            size += batch.nbytes
            if size > _TABLE:
                what = f"a row group takes more than {_TABLE:,} bytes"
                raise LimitError("limit-record", what, where=self._name, fix="write the file again with smaller row groups")
            yield batch

    def row_groups(self, schema: pa.Schema) -> Iterator[Iterator[pa.RecordBatch]]:
        """Yield the batches of each row group, with the columns of `schema`; dictionaries are decoded."""
        import pyarrow.parquet as pq

        for name in schema.names:
            if self.schema.field(name).type != schema.field(name).type:
                raise InputError("parquet-columns", f"the column {name!r} has the wrong type", where=self._name)
        self._require_all_columns()
        found = self._metadata
        columns = [n for n in range(found.num_columns) if found.schema.column(n).path.partition(".")[0] in schema.names]
        _require_apart(self._groups, columns, self._name)
        limit = self._limits.parquet_bytes
        pages = PageSizes(self._source, self._name, found.schema, self._groups, columns=columns, limit=limit)
        options = {"read_dictionary": pages.as_dictionaries, "buffer_size": 64 * KIB, "page_checksum_verification": True}
        file = pq.ParquetFile(self._source, metadata=found, **options)
        decoded = DecodedRows(self._name, self._source.seek(0, os.SEEK_END), self._limits)
        for number, group in enumerate(self._groups):
            if group.rows:  # older versions of Arrow cannot read nested columns of an empty row group
                rows = pages.rows_at_once(group)
                batches = file.iter_batches(batch_size=rows, row_groups=[number], columns=schema.names, use_threads=False)
                yield decoded.of(batches)

    def _require_all_columns(self) -> None:
        """Reject a file if our parse of the footer and Arrow's metadata differ in the number of row groups or columns."""
        counts = {len(group.columns) for group in self._groups}
        if len(self._groups) != self._metadata.num_row_groups or not counts <= {self._metadata.num_columns}:
            fix = "write the file again"
            raise InputError("parquet-malformed", "a row group lacks columns", where=self._name, fix=fix)


def _table(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    found = list(batches)
    return pa.Table.from_batches(found).cast(schema) if found else schema.empty_table()


@contextmanager
def _translate(name: str) -> Iterator[None]:
    """Convert errors of Arrow."""
    try:
        yield
    except KeyError as e:
        what, fix = "a column is missing", "write the file again, or specify its format"
        raise InputError("parquet-columns", what, where=name, fix=fix) from e
    except (pa.ArrowException, OSError, UnicodeDecodeError) as e:
        fix = "write the file again, or specify its format"
        raise InputError("parquet-malformed", "damaged Parquet file", where=name, fix=fix) from e


def write_parquet(batches: Iterator[pa.RecordBatch], schema: pa.Schema, file: BinaryIO) -> None:
    """Write each batch as a row group."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer:
        for batch in batches:
            writer.write_batch(batch)


@contextmanager
def _seekable(file: InputFile) -> Iterator[BinaryIO]:
    """Open a seekable file; a compressed file or an archive member is read into memory, within a limit."""
    with _translate(file.name):
        raw = file.opener()
    try:
        if raw.seekable() and raw.read(len(_MAGIC)) == _MAGIC:
            yield raw
        else:
            yield io.BytesIO(_whole(file))
    finally:
        raw.close()


def _whole(file: InputFile) -> bytes:
    data = bytearray()
    with file.open() as stream:
        while more := stream.read(MIB):
            data += more
            if len(data) > _PACKED:
                what = f"a compressed Parquet file is larger than {_PACKED:,} bytes"
                raise LimitError("limit-record", what, where=file.name, fix="decompress the file, or unpack the archive, first")
    return bytes(data)


def _require_apart(groups: list[RowGroup], columns: list[int], name: str) -> None:
    """Reject columns that overlap in the file, because they let a small file take extremely long to read."""
    chunks = sorted((chunk.start, chunk.end) for group in groups for chunk in (group.columns[n] for n in columns))
    if any(end > start for (_, end), (start, _) in pairwise(chunks)):
        raise InputError("parquet-malformed", "columns overlap in the file", where=name, fix="write the file again")
