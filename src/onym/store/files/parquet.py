"""Reads and writes Parquet files in batches, in bounded memory. No other module reads untrusted Parquet files.

The memory needed is estimated from the headers first. Text columns are read as dictionaries, so that a repeated value is in
memory only once, and the size of the decoded rows is checked before they are created.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onym.errors import InputError, LimitError
from onym.store.files.source import InputFile
from onym.store.guards.parquet import PageSizes, RowGroup, read_row_groups
from onym.store.limits import KIB, MIB, Limits

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_ROWS, _BYTES = 256, 8 * MIB  # maximum rows and decoded bytes of a batch
_CELL = 8  # bytes counted for each value, in addition to its text


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
        if pa.types.is_list(kind):
            offsets = array.offsets.to_numpy()
            inner = self._costs(array.values.slice(offsets[0], offsets[-1] - offsets[0]))
            total: npt.NDArray[np.int64] = np.concatenate(([0], np.cumsum(inner)))
            ends: npt.NDArray[np.int64] = total[offsets - offsets[0]]
            return np.diff(ends) + _CELL
        if pa.types.is_string(kind):
            own: npt.NDArray[np.int64] = pc.binary_length(array).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            if len(own) and int(own.max()) > self._limits.document_bytes:
                raise self._too_long()
            return own + _CELL
        return np.full(len(array), _CELL, dtype=np.int64)

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
    if pa.types.is_list(kind):
        offsets = array.offsets
        values = array.values.slice(offsets[0].as_py(), offsets[-1].as_py() - offsets[0].as_py())
        return pa.ListArray.from_arrays(pc.subtract(offsets, offsets[0]), _plain(values), mask=is_null)
    return array


_PACKED = 64 * MIB  # maximum bytes of a file that must be read into memory, such as an archive member
_MAX_COLUMNS = 4096
_MAGIC = b"PAR1"


def iter_parquet(file: InputFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet file; raise InputError if a column of `schema` is missing or has another type.

    Strings longer than the document limit are rejected, and batches have at most 256 rows.
    """
    try:
        with _seekable(file) as source:
            batches = _batches(source, read_row_groups(source, file.name), file, schema)
            yield from DecodedRows(file.name, source.seek(0, os.SEEK_END), file.limits).of(batches)
    except (pa.ArrowException, KeyError, OSError, UnicodeDecodeError) as e:
        code = "parquet-columns" if isinstance(e, KeyError) else "parquet-malformed"
        what = "a column is missing" if isinstance(e, KeyError) else "damaged Parquet file"
        raise InputError(code, what, where=file.name, fix="write the file again, or specify its format") from e


def parquet_schema(file: InputFile) -> pa.Schema:
    """Return the schema of a Parquet file."""
    import pyarrow.parquet as pq

    try:
        with _seekable(file) as source:
            read_row_groups(source, file.name)
            return _columns(pq.read_metadata(source), file)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as e:
        fix = "write the file again, or specify its format"
        raise InputError("parquet-malformed", "damaged Parquet file", where=file.name, fix=fix) from e


def write_parquet(batches: Iterator[pa.RecordBatch], schema: pa.Schema, file: BinaryIO) -> None:
    """Write each batch as a row group."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer:
        for batch in batches:
            writer.write_batch(batch)


@contextmanager
def _seekable(file: InputFile) -> Iterator[BinaryIO]:
    """Open a seekable file; a compressed file or an archive member is read into memory, within a limit."""
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


def _batches(source: BinaryIO, groups: list[RowGroup], file: InputFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(source)
    there = _columns(metadata, file)
    for name in schema.names:
        if there.field(name).type != schema.field(name).type:
            raise InputError("parquet-columns", f"the column {name!r} has the wrong type", where=file.name)
    _require_all_columns(groups, metadata, file)
    columns = [n for n in range(metadata.num_columns) if metadata.schema.column(n).path.partition(".")[0] in schema.names]
    _require_apart(groups, columns, file)
    pages = PageSizes(source, file.name, metadata.schema, groups, columns=columns, limit=file.limits.parquet_bytes)
    options = {"read_dictionary": pages.as_dictionaries, "buffer_size": 64 * KIB, "page_checksum_verification": True}
    found = pq.ParquetFile(source, metadata=metadata, **options)
    for number, group in enumerate(groups):
        if group.rows:  # older versions of Arrow cannot read nested columns of an empty row group
            rows = pages.rows_at_once(group)
            yield from found.iter_batches(batch_size=rows, row_groups=[number], columns=schema.names, use_threads=False)


def _columns(metadata: pq.FileMetaData, file: InputFile) -> pa.Schema:
    if metadata.num_columns > _MAX_COLUMNS:
        raise InputError("parquet-columns", f"the file has more than {_MAX_COLUMNS:,} columns", where=file.name)
    return metadata.schema.to_arrow_schema()


def _require_all_columns(groups: list[RowGroup], metadata: pq.FileMetaData, file: InputFile) -> None:
    """Reject a file if our parse of the footer and Arrow's metadata differ in the number of row groups or columns."""
    counts = {len(group.columns) for group in groups}
    if len(groups) != metadata.num_row_groups or not counts <= {metadata.num_columns}:
        raise InputError("parquet-malformed", "a row group lacks columns", where=file.name, fix="write the file again")


def _require_apart(groups: list[RowGroup], columns: list[int], file: InputFile) -> None:
    """Reject columns that overlap in the file, because they let a small file take extremely long to read."""
    chunks = sorted((chunk.start, chunk.end) for group in groups for chunk in (group.columns[n] for n in columns))
    if any(end > start for (_, end), (start, _) in pairwise(chunks)):
        raise InputError("parquet-malformed", "columns overlap in the file", where=file.name, fix="write the file again")
