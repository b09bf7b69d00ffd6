"""Read delimited tables, here alone: a stream of Arrow batches, every row with exactly the expected number of fields."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import cast

import pyarrow as pa
import pyarrow.csv as pacsv

from onym.errors import InputError, LimitError, OnymError
from onym.store.files.source import InputFile
from onym.store.files.stream import InputStream
from onym.store.limits import KIB, MIB

_FEW_ROWS, _MANY_ROWS, _BATCH_BYTES = 4096, 65_536, 4 * MIB
_MAX_COLUMNS = 4096
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class TableFormat:
    """How a table is written. Without `names` its first line is the header."""

    delimiter: str = "\t"
    quoted: bool = False
    names: tuple[str, ...] = ()
    comment: str = ""  # leading lines that begin so are skipped


def iter_table(file: InputFile, form: TableFormat, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the wanted columns as strings, in batches.

    >>> file = InputFile.from_bytes("a.tsv", b"id\\tname\\n1\\tfever\\n")
    >>> [batch.to_pylist() for batch in iter_table(file, TableFormat(), ["name"])]
    [[{'name': 'fever'}]]
    """
    skipped, first = _head(file, form)
    if not first:
        return
    if not form.names:
        require_columns(_names(first, file, form), columns, file)
    with file.open() as stream:
        try:
            yield from _joined(_reader(stream, file, form, columns, skipped))
        except (pa.ArrowException, UnicodeDecodeError) as e:
            raise _refusal(str(e), file, stream) from e


def header(file: InputFile, form: TableFormat) -> list[str]:
    """Return the names in the first line that is not a comment."""
    return _names(_head(file, form)[1], file, form)


def _reader(
    stream: InputStream, file: InputFile, form: TableFormat, columns: Sequence[str], skipped: int
) -> Iterator[pa.RecordBatch]:
    reader = pacsv.open_csv(
        pa.PythonFile(_Text(stream), mode="r"),
        read_options=pacsv.ReadOptions(
            column_names=list(form.names) or None, skip_rows=skipped, block_size=file.limits.row_bytes, use_threads=False
        ),
        parse_options=pacsv.ParseOptions(
            delimiter=form.delimiter, quote_char='"' if form.quoted else False, newlines_in_values=form.quoted
        ),
        convert_options=pacsv.ConvertOptions(
            include_columns=list(columns),
            column_types=dict.fromkeys(columns, pa.large_string()),
            strings_can_be_null=False,
        ),
    )
    yield from reader


class _Text(io.RawIOBase):
    """A stream without NUL, which Arrow would let pass."""

    def __init__(self, stream: InputStream) -> None:
        super().__init__()
        self._stream = stream

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        data = self._stream.read(size)
        if b"\x00" in data:
            fix = "fetch the file again, or convert it to UTF-8"
            raise InputError("input-encoding", "a NUL byte in a text file", where=self._stream.name, fix=fix)
        return data


def _joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join small batches: few large ones are faster to work on. The first ones are small, so that a bad file costs little."""
    waiting: list[pa.RecordBatch] = []
    rows = size = read = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= min(_MANY_ROWS, max(_FEW_ROWS, read // 32)) or size >= _BATCH_BYTES:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            read, rows, size, waiting = read + rows, 0, 0, []
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def _head(file: InputFile, form: TableFormat) -> tuple[int, bytes]:
    """Return how many leading lines are comments, and the line after them."""
    comment, limit, used = form.comment.encode(), file.limits.row_bytes, 0
    with file.open(peek=True) as stream:
        lines = io.BufferedReader(cast("io.FileIO", stream), 64 * KIB)
        try:
            for skipped in range(limit):
                line = lines.readline(limit - used + 1)
                used += len(line)
                if used > limit:
                    break
                if not comment or not line.removeprefix(_BOM).startswith(comment):
                    return skipped, line
        finally:
            lines.detach()
    raise LimitError("limit-line", f"the first row does not end within {limit:,} bytes", where=f"{file.name}:{skipped + 1}")


def _names(first: bytes, file: InputFile, form: TableFormat) -> list[str]:
    try:
        text = first.decode("utf-8").removeprefix("\ufeff").rstrip("\r\n")
    except UnicodeDecodeError as e:
        raise InputError("input-encoding", "not valid UTF-8", where=f"{file.name}:1", fix="convert it to UTF-8") from e
    return [name.strip().strip('"') for name in text.split(form.delimiter)]


def require_columns(there: Sequence[str], wanted: Sequence[str], file: InputFile) -> None:
    """Refuse a table that has too many columns, or not just one of each wanted name."""
    if len(there) > _MAX_COLUMNS:
        raise InputError("table-columns", f"more than {_MAX_COLUMNS:,} columns", where=file.name)
    for name in wanted:
        if there.count(name) > 1:
            what = f"the columns {there.index(name) + 1} and {there.index(name, there.index(name) + 1) + 1} have the same name"
            raise InputError("table-columns", what, where=file.name, fix="rename one of them")
        if name not in there:  # without a header, the first row is data: of it nothing is shown but what is like the name
            like = get_close_matches(name, there)
            fix = f"use {like[0]!r}" if like else f"the first row has to name the columns; it has {len(there):,}"
            raise InputError("table-columns", f"no column is named {name[:60]!r}", where=file.name, fix=fix)


def _refusal(message: str, file: InputFile, stream: InputStream) -> OnymError:
    """Say what is wrong without the row's text, which Arrow's own message quotes."""
    where = f"{file.name} (before byte {stream.packed_bytes:,})"
    if "UTF8" in message or "utf-8" in message:
        return InputError("input-encoding", "not valid UTF-8", where=where, fix="convert the file to UTF-8")
    if counts := re.search(r"Expected (\d+) columns, got (\d+)", message):
        row = re.search(r"Row #(\d+)", message)
        what = f"a row has {counts[2]} fields, expected {counts[1]}"
        return InputError("table-fields", what, where=f"{file.name}:{row[1]}" if row else where, fix="fetch the file again")
    if "straddl" in message:
        return LimitError("limit-line", f"a row is longer than {file.limits.row_bytes:,} bytes", where=where)
    return InputError("table-malformed", "not a well-formed table", where=where, fix="check the delimiter and the quotes")
