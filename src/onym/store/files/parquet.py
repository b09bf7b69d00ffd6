"""The only door to Parquet files: batches of rows of one schema, in bounded memory."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from onym.errors import InputError, LimitError
from onym.store.files.source import InputFile
from onym.store.limits import MIB

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_ROWS = 256
_GROUP = 256 * MIB  # of one row group, unpacked, by its own words
_THRIFT = 16 * MIB


def iter_parquet(file: InputFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet file; a column that is missing or of another type than in `schema` is refused."""
    import pyarrow.parquet as pq

    raw = file.opener()
    try:
        source = raw if raw.seekable() else io.BytesIO(_whole(file))
        found = pq.ParquetFile(
            source, thrift_string_size_limit=_THRIFT, thrift_container_size_limit=_THRIFT, page_checksum_verification=True
        )
        _require_small(found, file)
        for name in schema.names:
            if found.schema_arrow.field(name).type != schema.field(name).type:
                raise InputError("parquet-columns", f"the column {name!r} has another type", where=file.name)
        if found.metadata.num_rows:  # of a file without any, older versions of Arrow cannot read nested columns
            yield from found.iter_batches(batch_size=_ROWS, columns=schema.names, use_threads=False)
    except (pa.ArrowException, KeyError, OSError, UnicodeDecodeError) as e:
        code = "parquet-columns" if isinstance(e, KeyError) else "parquet-malformed"
        what = "a column is missing" if isinstance(e, KeyError) else "not a whole Parquet file"
        raise InputError(code, what, where=file.name, fix="write it again, or name its format") from e
    finally:
        raw.close()


def parquet_schema(file: InputFile) -> pa.Schema:
    """Return the columns of a Parquet file and their types."""
    import pyarrow.parquet as pq

    raw = file.opener()
    try:
        source = raw if raw.seekable() else io.BytesIO(_whole(file))
        return pq.read_schema(source)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as e:
        fix = "write it again, or name its format"
        raise InputError("parquet-malformed", "not a whole Parquet file", where=file.name, fix=fix) from e
    finally:
        raw.close()


def write_parquet(batches: Iterator[pa.RecordBatch], schema: pa.Schema, file: BinaryIO) -> None:
    """Write batches, a row group each."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _whole(file: InputFile) -> bytes:
    data = bytearray()
    with file.open() as stream:
        while more := stream.read(MIB):
            data += more
            if len(data) > _GROUP:
                what = f"a Parquet file in an archive is larger than {_GROUP:,} bytes"
                raise LimitError("limit-record", what, where=file.name, fix="unpack the archive first")
    return bytes(data)


def _require_small(found: pq.ParquetFile, file: InputFile) -> None:
    for number in range(found.metadata.num_row_groups):
        if found.metadata.row_group(number).total_byte_size > _GROUP:
            raise LimitError("limit-record", f"a row group is larger than {_GROUP:,} bytes", where=file.name)
