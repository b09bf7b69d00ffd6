"""Reads and writes tables. The file extension decides the format.

    .tsv  .csv    text, with a header
    .jsonl        one object per row
    .parquet      typed columns
    .xlsx         the first sheet of a workbook; needs `pip install 'onym[serve]'`

In .tsv and .csv, text that starts like a formula (= + - @) or with an apostrophe is prefixed with an apostrophe, so that
spreadsheets do not evaluate it; names of columns too. Plain numbers, such as -5.2, stay as they are. `read_rows` removes the
prefix. In .xlsx such cells are stored as text.

.tsv, .csv and .xlsx are for people: the numbers of float columns have at most four decimals there.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from onym.errors import ConfigError, InputError, OnymError
from onym.fields import frame_of
from onym.store.files.input_file import InputFile
from onym.store.files.parquet import read_parquet
from onym.store.files.xlsx import read_cells, require_xlsx, write_xlsx
from onym.store.limits import panics_as_errors

if TYPE_CHECKING:
    import polars as pl

Columns: TypeAlias = Mapping[str, type]
"""Column names with their types: `str`, `int` or `float`; all are nullable."""
Values: TypeAlias = Sequence[Any]
_GUARD = "'"
_GUARDED = ("=", "+", "-", "@", "\t", "\r", _GUARD)
_DIGITS = 4  # maximum number of decimals in tables for people
_NUMBER = re.compile(r"[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?%?")
_ROWS = 10_000  # maximum rows per Parquet row group
_SEPARATORS = {".tsv": "\t", ".csv": ","}


def require_rows(path: Path) -> None:
    """Raise ConfigError if the extension is not that of a table; standard output is .tsv.

    >>> require_rows(Path("links.doc"))
    Traceback (most recent call last):
    onym.errors.ConfigError: [config-invalid] '.doc' is not a table format...
    """
    if path.suffix not in WRITERS and str(path) != "-":
        fix = f"use a file name that ends in {', '.join(WRITERS)}"
        raise ConfigError("config-invalid", f"{path.suffix!r} is not a table format", where=str(path), fix=fix)
    if path.suffix == ".xlsx":
        require_xlsx()


def write_rows(rows: Iterable[Values], columns: Columns, path: Path, file: BinaryIO) -> None:
    """Write rows to an open file, in the format of the extension of `path`.

    >>> import io
    >>> file = io.BytesIO()
    >>> write_rows([("=1+1", 3)], {"text": str, "end": int}, Path("links.csv"), file)
    >>> file.getvalue()
    b"text,end\\n'=1+1,3\\n"
    """
    WRITERS[path.suffix or ".tsv"](rows, columns, file)


def read_rows(path: Path, kinds: Columns) -> pl.DataFrame:
    """Read a table written by `write_rows`; `kinds` are the types of non-text columns."""
    require_rows(path)
    with code_table_errors(path):
        return _read_rows(path, kinds)


@contextmanager
def code_table_errors(path: Path) -> Iterator[None]:
    """Convert the errors of missing columns, wrong types and cells that are no numbers to InputError; messages are dropped."""
    from polars.exceptions import PolarsError

    try:
        with panics_as_errors():
            yield
    except OnymError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError, csv.Error, PolarsError) as e:
        what = "a row has other columns or values than this kind of table"
        raise InputError("table-malformed", what, where=path.name, fix="write the table again with Onym") from e


def _read_rows(path: Path, kinds: Columns) -> pl.DataFrame:
    import polars as pl

    if path.suffix == ".parquet":
        return pl.DataFrame(pl.from_arrow(read_parquet(InputFile.from_path(path))))
    if path.suffix == ".jsonl":
        lines = path.read_bytes().decode().split("\n")[:-1]  # not str.splitlines, which also splits at other characters
        objects = [json.loads(line) for line in lines]
        names = list(objects[0]) if objects else list(kinds)
        return frame_of([[each[name] for name in names] for each in objects], _kinds(names, kinds))
    if path.suffix == ".xlsx":
        head, *rows = read_cells(path)
        return _convert_cells([str(name) for name in head], rows, kinds)
    with path.open(encoding="utf-8", newline="") as lines_of_text:
        names, *cells = csv.reader(lines_of_text, delimiter=_SEPARATORS[path.suffix])
    return _convert_cells(
        list(map(_unguard_formula, names)), [[_unguard_formula(cell) for cell in row] for row in cells], kinds
    )


def _kinds(names: Iterable[str], kinds: Columns) -> dict[str, type]:
    return {name: kinds.get(name, str) for name in names}


def _convert_cells(names: Sequence[str], rows: Sequence[Values], kinds: Columns) -> pl.DataFrame:
    columns = _kinds(names, kinds)
    values = [
        [None if cell in (None, "") else kind(cell) for cell, kind in zip(row, columns.values(), strict=True)] for row in rows
    ]
    return frame_of(values, columns)


def write_plain_csv(rows: Iterable[Values], columns: Columns, file: BinaryIO, *, header: bool = True) -> None:
    """Write rows as CSV for a database: no escaping of formulas, and empty cells for None.

    >>> import io
    >>> file = io.BytesIO()
    >>> write_plain_csv([("=1+1", None)], {"text": str, "end": int}, file)
    >>> file.getvalue()
    b'text,end\\n=1+1,\\n'
    """
    writer = csv.writer(_LineFeeds(file))
    if header:
        writer.writerow(columns)
    writer.writerows(rows)


def _write_separated(rows: Iterable[Values], columns: Columns, file: BinaryIO, separator: str) -> None:
    writer = csv.writer(_LineFeeds(file), delimiter=separator)
    writer.writerow(map(_guard_formula, columns))
    writer.writerows(map(_guard_formula, row) for row in _round(rows, columns))


def _round(rows: Iterable[Values], columns: Columns) -> Iterator[list[Any]]:
    """Yield rows with the values of float columns rounded; the columns of a user's own table have the type `str`."""
    at = [number for number, kind in enumerate(columns.values()) if kind is float]
    for row in rows:
        values = list(row)
        for number in at:
            values[number] = None if row[number] is None else round(row[number], _DIGITS)
        yield values


class _LineFeeds:
    """File wrapper that ends lines with LF. csv.writer must use CRLF, because with LF it does not quote cells with a CR."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, line: str) -> None:
        self._file.write(line.removesuffix("\r\n").encode() + b"\n")


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet may evaluate a text: it starts like a formula, and is not a plain number.

    >>> [text for text in ("=1+1", "-5.2", "-1+2", "+3e-4", "@A1", "5 mg") if is_formula(text)]
    ['=1+1', '-1+2', '@A1']
    """
    return text.startswith(_GUARDED) and not _NUMBER.fullmatch(text)


def _guard_formula(value: Any) -> Any:
    """Prefix text that starts like a formula with an apostrophe."""
    return f"{_GUARD}{value}" if isinstance(value, str) and is_formula(value) else value


def _unguard_formula(cell: str) -> str:
    return cell[1:] if cell.startswith(_GUARD) else cell


def _write_lines(rows: Iterable[Values], columns: Columns, file: BinaryIO) -> None:
    for row in rows:
        file.write(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False).encode() + b"\n")


def _write_parquet(rows: Iterable[Values], columns: Columns, file: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in columns.items()])
    with pq.ParquetWriter(file, schema) as writer:
        for batch in _batches(iter(rows)):
            values = {name: [row[at] for row in batch] for at, name in enumerate(columns)}
            writer.write_table(pa.Table.from_pydict(values, schema))


def _batches(rows: Iterator[Values]) -> Iterator[list[Values]]:
    while batch := list(islice(rows, _ROWS)):
        yield batch


WRITERS: dict[str, Callable[[Iterable[Values], Columns, BinaryIO], None]] = {
    ".tsv": lambda rows, columns, file: _write_separated(rows, columns, file, "\t"),
    ".csv": lambda rows, columns, file: _write_separated(rows, columns, file, ","),
    ".jsonl": _write_lines,
    ".parquet": _write_parquet,
    ".xlsx": lambda rows, columns, file: write_xlsx(_round(rows, columns), list(columns), file),
}
"""Table writers by file extension."""
