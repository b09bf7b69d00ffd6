"""The only door to Parquet files: batches of rows of one schema, in bounded memory.

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

import pyarrow as pa

from onym.errors import InputError, LimitError
from onym.store.files.parquet_footer import RowGroup, read_row_groups
from onym.store.files.parquet_pages import PageSizes
from onym.store.files.parquet_rows import DecodedRows
from onym.store.files.source import InputFile
from onym.store.limits import KIB, MIB

if TYPE_CHECKING:
    import pyarrow.parquet as pq

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
