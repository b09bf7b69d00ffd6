"""Read Parquet files, here alone: batches of rows of one schema, in bounded memory.

What a file would take is found in its headers first. Then text is read as dictionaries, so that a value which many rows share
is held once, and rows are counted by what they stand for before they are made.
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

_ROWS, _BYTES = 256, 8 * MIB  # of a batch
_CELL = 8  # bytes that any value counts for, besides its text


class DecodedRows:
    """Rows of a file of `size` bytes on their way out, counted by what they stand for."""

    def __init__(self, name: str, size: int, limits: Limits) -> None:
        self._name, self._size, self._limits = name, size, limits
        self._total = 0

    def of(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of batches in smaller ones, without dictionaries."""
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
            what = f"stands for more than {limits.ratio} times its size, as a decompression bomb does"
            raise LimitError("limit-ratio", what, where=self._name)

    def _costs(self, array: pa.Array) -> npt.NDArray[np.int64]:
        """Return what each member stands for, in bytes."""
        import pyarrow.compute as pc

        kind = array.type
        if pa.types.is_dictionary(kind):
            self._require_known(array)
            lengths = np.append(self._costs(array.dictionary), _CELL)  # the last one is null's
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
        """Refuse numbers that a dictionary does not have: Arrow would read what lies beside it."""
        import pyarrow.compute as pc

        numbers = pc.min_max(array.indices).as_py()
        if numbers["min"] is not None and not 0 <= numbers["min"] <= numbers["max"] < len(array.dictionary):
            what = "a value is not in its dictionary"
            raise InputError("parquet-malformed", what, where=self._name, fix="write it again")

    def _too_long(self) -> LimitError:
        what = f"a document is longer than {self._limits.document_bytes:,} bytes"
        return LimitError("limit-record", what, where=self._name)


def _ends(costs: npt.NDArray[np.int64]) -> Iterator[int]:
    """Yield where batches end: before rows get large together, and at the end."""
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


_PACKED = 64 * MIB  # of a file that cannot be read in any order, as in an archive
_MAX_COLUMNS = 4096
_MAGIC = b"PAR1"


def iter_parquet(file: InputFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet file; a column that is missing or of another type than in `schema` is refused.

    No text is longer than a document may be, and a batch is no larger than a few of them.
    """
    try:
        with _seekable(file) as source:
            batches = _batches(source, read_row_groups(source, file.name), file, schema)
            yield from DecodedRows(file.name, source.seek(0, os.SEEK_END), file.limits).of(batches)
    except (pa.ArrowException, KeyError, OSError, UnicodeDecodeError) as e:
        code = "parquet-columns" if isinstance(e, KeyError) else "parquet-malformed"
        what = "a column is missing" if isinstance(e, KeyError) else "not a whole Parquet file"
        raise InputError(code, what, where=file.name, fix="write it again, or name its format") from e


def parquet_schema(file: InputFile) -> pa.Schema:
    """Return the columns of a Parquet file and their types."""
    import pyarrow.parquet as pq

    try:
        with _seekable(file) as source:
            read_row_groups(source, file.name)
            return _columns(pq.read_metadata(source), file)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as e:
        fix = "write it again, or name its format"
        raise InputError("parquet-malformed", "not a whole Parquet file", where=file.name, fix=fix) from e


def write_parquet(batches: Iterator[pa.RecordBatch], schema: pa.Schema, file: BinaryIO) -> None:
    """Write batches, a row group each."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer:
        for batch in batches:
            writer.write_batch(batch)


@contextmanager
def _seekable(file: InputFile) -> Iterator[BinaryIO]:
    """Open a file to be read in any order; one that is packed, or in an archive, is small enough to be held."""
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
                what = f"a packed Parquet file is larger than {_PACKED:,} bytes"
                raise LimitError("limit-record", what, where=file.name, fix="unpack it first")
    return bytes(data)


def _batches(source: BinaryIO, groups: list[RowGroup], file: InputFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(source)
    there = _columns(metadata, file)
    for name in schema.names:
        if there.field(name).type != schema.field(name).type:
            raise InputError("parquet-columns", f"the column {name!r} has another type", where=file.name)
    _require_all_columns(groups, metadata, file)
    columns = [n for n in range(metadata.num_columns) if metadata.schema.column(n).path.partition(".")[0] in schema.names]
    _require_apart(groups, columns, file)
    pages = PageSizes(source, file.name, metadata.schema, groups, columns=columns, limit=file.limits.parquet_bytes)
    options = {"read_dictionary": pages.as_dictionaries, "buffer_size": 64 * KIB, "page_checksum_verification": True}
    found = pq.ParquetFile(source, metadata=metadata, **options)
    for number, group in enumerate(groups):
        if group.rows:  # of one without any, older versions of Arrow cannot read nested columns
            rows = pages.rows_at_once(group)
            yield from found.iter_batches(batch_size=rows, row_groups=[number], columns=schema.names, use_threads=False)


def _columns(metadata: pq.FileMetaData, file: InputFile) -> pa.Schema:
    if metadata.num_columns > _MAX_COLUMNS:
        raise InputError("parquet-columns", f"more than {_MAX_COLUMNS:,} columns", where=file.name)
    return metadata.schema.to_arrow_schema()


def _require_all_columns(groups: list[RowGroup], metadata: pq.FileMetaData, file: InputFile) -> None:
    """Refuse a file of which Arrow and the footer do not say the same."""
    counts = {len(group.columns) for group in groups}
    if len(groups) != metadata.num_row_groups or not counts <= {metadata.num_columns}:
        raise InputError("parquet-malformed", "a row group lacks columns", where=file.name, fix="write it again")


def _require_apart(groups: list[RowGroup], columns: list[int], file: InputFile) -> None:
    """Refuse columns that share bytes: a small file could be read for ever."""
    chunks = sorted((chunk.start, chunk.end) for group in groups for chunk in (group.columns[n] for n in columns))
    if any(end > start for (_, end), (start, _) in pairwise(chunks)):
        raise InputError("parquet-malformed", "its columns share bytes", where=file.name, fix="write it again")
