"""Reads delimited tables as Arrow batches, in which every row has exactly the expected number of fields."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.csv as pacsv

from onym.errors import InputError, LimitError, OnymError
from onym.store.files.source import InputFile
from onym.store.files.stream import InputStream
from onym.store.limits import KIB, MIB

_FEW_ROWS, _MANY_ROWS, _BATCH_BYTES = 4096, 65_536, 4 * MIB
_MAX_COLUMNS = 4096
_BOM = b"\xef\xbb\xbf"
_RUN = re.compile(rb'"+')  # one or more consecutive quotes
_DELIMITERS = (",", ";", "\t", "|")
_SHOWN = 12  # maximum number of column names listed in an error
_MIN_HEADINGS = 2  # minimum cells of a header row: a single cell may be the first entry of a plain list of terms
_HEADING = re.compile(r"(?!.*\d{3})[^\W\d][^\n.]{0,39}|")


@dataclass(frozen=True, slots=True)
class TableFormat:
    """The format of a table. Without `names`, its first line is the header."""

    delimiter: str = "\t"
    quoted: bool = False
    names: tuple[str, ...] = ()
    comment: str = ""  # leading lines that start with this are skipped


def iter_table(file: InputFile, form: TableFormat, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the given columns as strings, in batches.

    >>> file = InputFile.from_bytes("a.tsv", b"id\\tname\\n1\\tfever\\n")
    >>> [batch.to_pylist() for batch in iter_table(file, TableFormat(), ["name"])]
    [[{'name': 'fever'}]]
    """
    skipped, first = _head(file, form)
    if not first:
        return
    names = list(form.names) or _names(first, file, form)
    if not form.names:
        require_columns(names, columns, file)
    with file.open() as stream:
        text = _Text(stream, QuoteCheck(file.name, form.delimiter) if form.quoted else None)
        reading = pacsv.ReadOptions(
            column_names=names,
            skip_rows=skipped,
            skip_rows_after_names=0 if form.names else 1,
            block_size=file.limits.row_bytes,
            use_threads=False,
        )
        try:
            yield from _join_batches(_reader(text, form, columns, reading))
        except (pa.ArrowException, UnicodeDecodeError) as e:
            text.require_closed()
            raise _refusal(str(e), file, stream) from e


def header(file: InputFile, form: TableFormat) -> list[str]:
    """Return the column names in the first line that is not a comment."""
    return _names(_head(file, form)[1], file, form)


def sniff_format(file: InputFile, wanted: Iterable[str] = ()) -> TableFormat:
    """Detect the delimiter of a table with a header: the one that gives the most wanted columns, then the most columns.

    >>> sniff_format(InputFile.from_bytes("a.csv", b"id;name\\n1;fever, high\\n")).delimiter
    ';'
    """
    own = "," if file.stem.endswith(".csv") else "\t"
    forms = [TableFormat(each, quoted=True) for each in sorted(_DELIMITERS, key=lambda each: each != own)]
    known = {name.lower() for name in wanted}

    def rank(form: TableFormat) -> tuple[int, int]:
        names = header(file, form)
        return len(known & {name.lower() for name in names}), len(names)

    return max(forms, key=rank)


def _reader(text: _Text, form: TableFormat, columns: Sequence[str], reading: pacsv.ReadOptions) -> Iterator[pa.RecordBatch]:
    reader = pacsv.open_csv(
        pa.PythonFile(text, mode="r"),
        read_options=reading,
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
    """A stream that raises for NUL bytes, because Arrow would accept them, and for unclosed quotes."""

    def __init__(self, stream: InputStream, quotes: QuoteCheck | None) -> None:
        super().__init__()
        self._stream, self._quotes = stream, quotes

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        data = self._stream.read(size)
        if b"\x00" in data:
            fix = "fetch the file again, or convert it to UTF-8"
            raise InputError("input-encoding", "the text contains a NUL byte", where=self._stream.name, fix=fix)
        if self._quotes and data:
            self._quotes.feed(data)
        elif self._quotes and size:
            self._quotes.close()
        return data

    def require_closed(self) -> None:
        """Read until the open quote is closed; raise if the file ends before that."""
        while self._quotes and self._quotes.is_open:
            self.read(MIB)


def _join_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join batches, because large batches are faster. The first joined batches are small, so that a bad file fails early."""
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
    """Return the number of leading comment lines, and the row after them, which may contain quoted line breaks."""
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
                    return skipped, line + _find_quoted_lines(line, lines, file, form) if form.quoted else line
        finally:
            lines.detach()
    raise LimitError("limit-line", f"the first row does not end within {limit:,} bytes", where=f"{file.name}:{skipped + 1}")


def _find_quoted_lines(line: bytes, lines: BinaryIO, file: InputFile, form: TableFormat) -> bytes:
    """Return the lines that belong to the first row because a quote is still open at the end of its first line."""
    quotes, more = QuoteCheck(file.name, form.delimiter), b""
    quotes.feed(line)
    while quotes.is_open and len(line) + len(more) <= file.limits.row_bytes:
        following = lines.readline(file.limits.row_bytes)
        if not following:
            quotes.close()
        quotes.feed(following)
        more += following
    return more


def _names(first: bytes, file: InputFile, form: TableFormat) -> list[str]:
    try:
        text = first.decode("utf-8").removeprefix("\ufeff").rstrip("\r\n")
    except UnicodeDecodeError as e:
        raise InputError("input-encoding", "not valid UTF-8", where=f"{file.name}:1", fix="convert the file to UTF-8") from e
    if not form.quoted:
        return [name.strip().strip('"') for name in text.split(form.delimiter)]
    end = re.escape(form.delimiter)
    cells = re.finditer(rf'(?:^|{end})(?:"([^"]*(?:""[^"]*)*)"?)?([^{end}]*)', text)
    return [((cell[1] or "").replace('""', '"') + cell[2]).strip() for cell in cells]


def require_columns(there: Sequence[str], wanted: Sequence[str], file: InputFile) -> None:
    """Raise InputError if there are too many columns, or a wanted column is missing or duplicated."""
    if len(there) > _MAX_COLUMNS:
        raise InputError("table-columns", f"the table has more than {_MAX_COLUMNS:,} columns", where=file.name)
    for name in wanted:
        if there.count(name) > 1:
            what = f"the columns {there.index(name) + 1} and {there.index(name, there.index(name) + 1) + 1} have the same name"
            raise InputError("table-columns", what, where=file.name, fix="rename one of the columns")
        if name not in there:
            fix = describe_columns(there)
            if like := get_close_matches(name, there, 1):
                fix = f"use {like[0]!r}; {fix}"
            raise InputError("table-columns", f"no column is named {name[:60]!r}", where=file.name, fix=fix)


def describe_columns(there: Sequence[str]) -> str:
    """Describe the columns for an error message; if the first row looks like data, give only its number of cells.

    >>> describe_columns(["code", "term"]), describe_columns(["17", "The patient fell."])
    ('the columns are code, term', 'the first row must contain the column names; it has 2 cells')
    """
    if not all(_HEADING.fullmatch(name) for name in there) or len(there) < _MIN_HEADINGS:
        return f"the first row must contain the column names; it has {len(there):,} cells"
    rest = f" and {len(there) - _SHOWN:,} more" if len(there) > _SHOWN else ""
    return f"the columns are {', '.join(there[:_SHOWN])}{rest}"


def _refusal(message: str, file: InputFile, stream: InputStream) -> OnymError:
    """Convert the message of an Arrow error to an error with a code; the message is dropped, because it quotes the input."""
    where = f"{file.name} (before byte {stream.bytes_on_disk:,})"
    if "UTF8" in message or "utf-8" in message:
        return InputError("input-encoding", "not valid UTF-8", where=where, fix="convert the file to UTF-8")
    if counts := re.search(r"Expected (\d+) columns, got (\d+)", message):
        row = re.search(r"Row #(\d+)", message)
        what = f"a row has {counts[2]} fields, expected {counts[1]}"
        return InputError("table-fields", what, where=f"{file.name}:{row[1]}" if row else where, fix="fetch the file again")
    if "straddl" in message:
        return LimitError("limit-line", f"a row is longer than {file.limits.row_bytes:,} bytes", where=where)
    return InputError("table-malformed", "not a well-formed table", where=where, fix="check the delimiter and the quotes")


class QuoteCheck:
    """Tracks quoted cells across the blocks of a file, with the same rules as Arrow's parser.

    A quote at the start of a cell opens it, a doubled quote is an escaped quote, and a single quote closes it.

    >>> check = QuoteCheck("t.csv", ",")
    >>> check.feed(b'id,name\\n1,"fever\\n2,cough\\n')
    >>> check.close()
    Traceback (most recent call last):
    onym.errors.InputError: [table-quote] a quote is not closed...
    """

    def __init__(self, name: str, delimiter: str) -> None:
        self._name = name
        ends = re.escape(delimiter.encode()) + rb"\r\n"
        opening = rb"(?<=[" + ends + rb'])"'
        self._opening = re.compile(opening)
        closed = opening + rb'[^"]*+(?:""[^"]*+)*+"(?=[' + ends + rb"])"
        self._closed_cells = re.compile(rb'(?:[^"]++|' + closed + rb")*+")  # one match skips most of a block
        self._allowed = frozenset(delimiter.encode() + b"\r\n ")
        self._line = 1
        self._opened = 0  # line number of the open quote; 0 if no quote is open
        self._rest = b"\n"  # the end of the previous block: its last byte, or all quotes at its end
        self._is_first = True

    def feed(self, block: bytes) -> None:
        """Check the next block; raise if a quote that spans lines is closed in the middle of a cell."""
        if self._is_first:
            block, self._is_first = block.removeprefix(_BOM), False
        self._follow(self._rest + block, 0 if self._opened else len(self._rest))

    @property
    def is_open(self) -> bool:
        """True while a quote is open."""
        return bool(self._opened) and len(self._rest) % 2 == 0

    def close(self) -> None:
        """Raise if a quote is still open at the end of the file."""
        if self.is_open:
            raise self._error()

    def _follow(self, data: bytes, at: int) -> None:
        while True:
            start = at if self._opened else self._closed_cells.match(data, at).end()  # type: ignore[union-attr]
            found = (_RUN if self._opened else self._opening).search(data, start)
            end = found.end() if found else len(data)
            self._line += data.count(b"\n", at, end)
            if found is None:
                break
            if not self._opened:
                self._opened = self._line
            elif end == len(data):  # the next block decides whether these quotes close the cell
                self._rest = found[0]
                return
            elif len(found[0]) % 2:
                self._require_end(data[end])
                self._opened = 0
            at = end
        self._rest = b"" if self._opened else data[-1:]

    def _require_end(self, following: int) -> None:
        if self._line > self._opened and following not in self._allowed:
            raise self._error()

    def _error(self) -> InputError:
        fix = "close the quote in that line, or double it if it belongs to the text"
        return InputError("table-quote", "a quote is not closed", where=f"{self._name}:{self._opened}", fix=fix)
