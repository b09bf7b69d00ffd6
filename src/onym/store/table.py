"""The only door to delimited tables: a stream of Arrow batches, every row with exactly the expected number of fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import pyarrow as pa
import pyarrow.csv as pacsv

from onym.errors import InputError
from onym.store.source import InputFile
from onym.store.stream import InputStream


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
    skipped = _leading_comments(file, form.comment)
    with file.open() as stream:
        if not stream.read(1):
            return
    with file.open() as stream:
        try:
            reader = pacsv.open_csv(
                pa.PythonFile(stream, mode="r"),
                read_options=pacsv.ReadOptions(
                    column_names=list(form.names) or None,
                    skip_rows=skipped,
                    block_size=file.limits.block_bytes,
                    use_threads=False,
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
        except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowCapacityError, UnicodeDecodeError) as e:
            raise _refusal(str(e), file, stream) from e


def header(file: InputFile, form: TableFormat) -> list[str]:
    """Return the names in the first line that is not a comment."""
    with file.open() as stream:
        lines = iter(lambda: _line(stream), b"")
        first = next((line for line in lines if not form.comment or not line.startswith(form.comment.encode())), b"")
    try:
        text = first.decode("utf-8").removeprefix("\ufeff").rstrip("\r\n")
    except UnicodeDecodeError as e:
        raise InputError("input-encoding", "not valid UTF-8", where=f"{file.name}:1", fix="convert it to UTF-8") from e
    return [name.strip().strip('"') for name in text.split(form.delimiter)]


def _refusal(message: str, file: InputFile, stream: InputStream) -> InputError:
    """Say what is wrong without the row's text, which Arrow's own message quotes."""
    where = f"{file.name} (before byte {stream.packed_bytes:,})"
    if "UTF8" in message or "utf-8" in message:
        return InputError("input-encoding", "not valid UTF-8", where=where, fix="convert the file to UTF-8")
    if counts := re.search(r"Expected (\d+) columns, got (\d+)", message):
        row = re.search(r"Row #(\d+)", message)
        what = f"a row has {counts[2]} fields, expected {counts[1]}"
        return InputError("table-fields", what, where=f"{file.name}:{row[1]}" if row else where, fix="fetch the file again")
    if missing := re.search(r"Column '([^']{1,60})' in include_columns does not exist", message):
        fix = f"its columns are {', '.join(header(file, TableFormat())[:12])}"[:200]
        return InputError("table-columns", f"no column named {missing[1]!r}", where=file.name, fix=fix)
    return InputError("table-malformed", "not a well-formed table", where=where, fix="check the delimiter and the quotes")


def _leading_comments(file: InputFile, comment: str) -> int:
    if not comment:
        return 0
    with file.open() as stream:
        return next(n for n in count() if not _line(stream).startswith(comment.encode()))


def _line(stream: InputStream) -> bytes:
    """Return the next line, cut at the limit: io's own readline over a buffered view of the stream."""
    return stream.readline(64 * 1024)
