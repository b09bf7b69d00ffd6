"""Tables with a column of terms: .csv with commas, semicolons or tabs, .tsv, .xlsx and Parquet.

The header is read, and the column looked for, before anything else is done. All cells become text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from onym.predictions.mapping.terms import TermTable
from onym.store.files.parquet import iter_parquet, parquet_schema
from onym.store.files.source import InputFile
from onym.store.files.table import TableFormat, header, iter_table, require_columns
from onym.store.files.xlsx import read_xlsx

_DELIMITERS = (",", ";", "\t")


def read_terms(path: Path | str, column: str) -> TermTable:
    """Open a table; the ending of its name says how it is written. Packed files are unpacked.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "terms.csv"
    >>> _ = path.write_text("code;term\\n1;fever\\n")
    >>> table = read_terms(path, "term")
    >>> table.columns, list(table.rows)
    (('code', 'term'), [('1', 'fever')])
    """
    path = Path(path)
    file = InputFile.from_path(path)
    if path.suffix == ".xlsx":
        rows = read_xlsx(path)
        columns = list(next(rows, ()))
        cells: Iterator[tuple[str, ...]] = (row[: len(columns)] for row in rows if any(row))
    elif path.suffix == ".parquet":
        schema = parquet_schema(file)
        columns = schema.names
        cells = (tuple(map(_text, row)) for batch in iter_parquet(file, schema) for row in _rows(batch, columns))
    else:
        form = TableFormat(_delimiter(file, column), quoted=True)
        columns = header(file, form)
        cells = (row for batch in iter_table(file, form, list(dict.fromkeys(columns))) for row in _rows(batch, columns))
    require_columns(columns, [column], file)
    return TermTable(tuple(columns), cells, columns.index(column))


def count_rows(path: Path, column: str) -> int:
    """Return how many rows a table has; the column must be there."""
    return sum(1 for _ in read_terms(path, column).rows)


def _delimiter(file: InputFile, column: str) -> str:
    """Return what separates the columns: in a .csv, that which makes one of the wanted name, else of the most names."""
    if not file.stem.endswith(".csv"):
        return "\t"
    names = {each: header(file, TableFormat(each, quoted=True)) for each in _DELIMITERS}
    named = [each for each in _DELIMITERS if column in names[each]]
    return named[0] if named else max(_DELIMITERS, key=lambda each: len(names[each]))


def _rows(batch: Any, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
