"""Tables of texts: a document for each row of a .csv, .tsv or .xlsx file with column names in its first row. Read-only.

The columns with the text and the id are guessed by name (`text`, `note`, `title`, `abstract` ...; `id`, `pmid`, `note_id` ...),
or given with `--text-column` and `--id-column`. The texts of several columns are joined, and are passages of the document.
Without an id column, or if its cell is empty, the id is the file name and the number of the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onym.corpora.base import Facet, Item, ReadOptions
from onym.corpora.formats._columns import guess_columns, join_texts, resolve_columns
from onym.corpora.formats._files import TABLES, any_looks, id_of_file
from onym.corpora.formats._read_only import preserve_nothing, refuse_to_write
from onym.store.files.source import InputFile, Source, copy_to_disk
from onym.store.files.table import header, iter_table, sniff_format
from onym.store.files.xlsx import read_xlsx

HOLDS: frozenset[Facet] = frozenset({"document ids", "text", "passages"})
IS_FOLDER = False
preserved_facets, write = preserve_nothing, refuse_to_write
MAY_BE_CP1252 = True
_WORKBOOK = ".xlsx"


def matches(source: Source) -> bool:
    """Return whether a file is a table, by its name, and has a text column that is known by name."""
    return any_looks(source, lambda file: file.stem.endswith(TABLES) and _has_text(file))


def resolve(file: InputFile, options: ReadOptions) -> ReadOptions:
    """Return the options with the text columns and the id column of a file; raise InputError if there is no text column."""
    return resolve_columns(column_names(file), options, file)


def read(source: Source) -> Iterator[Item]:
    """Yield a document for each row, with columns guessed by name."""
    return read_with(source, ReadOptions())


def read_with(source: Source, options: ReadOptions) -> Iterator[Item]:
    """Yield a document for each row."""
    return (item for file in source.files for item in _read_file(file, resolve(file, options)))


def column_names(file: InputFile) -> list[str]:
    """Return the column names of a table or a workbook."""
    if not file.stem.endswith(_WORKBOOK):
        return header(file, sniff_format(file))
    with copy_to_disk(file, peek=True) as path:
        return list(next(read_xlsx(path, file.limits), ()))


def _has_text(file: InputFile) -> bool:
    return bool(guess_columns(column_names(file), ReadOptions()).text_columns)


def _read_file(file: InputFile, options: ReadOptions) -> Iterator[Item]:
    names = [*options.text_columns, *([options.id_column] if options.id_column else [])]
    stem = id_of_file(file)
    for ending in TABLES:
        stem = stem.removesuffix(ending)
    for number, cells in enumerate(_rows(file, names), 1):
        texts = list(zip(options.text_columns, cells, strict=False))
        document_id = cells[-1].strip() if options.id_column else ""
        yield join_texts(document_id or f"{stem}.{number}", texts)


def _rows(file: InputFile, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of the given columns; a row of empty cells is skipped."""
    if not file.stem.endswith(_WORKBOOK):
        columns = list(dict.fromkeys(names))
        for batch in iter_table(file, sniff_format(file), columns):
            yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)
        return
    with copy_to_disk(file) as path:
        rows = read_xlsx(path, file.limits)
        there = next(rows, ())
        places = [there.index(name) for name in names]
        yield from (tuple(row[place] for place in places) for row in rows if any(row))
