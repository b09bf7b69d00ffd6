"""Reader of csv, tsv and xlsx tables with a header. Columns are given by the caller, or found by their usual names."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Literal

import polars as pl
import pyarrow as pa
from pydantic import Field

from onym.errors import ConfigError
from onym.kb.curie import curies
from onym.kb.readers._shared import bar_list, batches, curie_lists, kind
from onym.parts import PartConfig
from onym.store.files.source import InputFile, Source, copy_to_disk
from onym.store.files.table import describe_columns, header, iter_table, require_columns, sniff_format
from onym.store.files.xlsx import read_xlsx, require_xlsx
from onym.types import NameKind

USUAL = {
    "id": ("id", "concept_id", "code", "curie", "cui", "identifier", "term_id"),
    "name": ("name", "label", "term", "preferred_name", "subject", "title", "str"),
    "synonyms": ("synonyms", "aliases", "synonym"),
    "definition": ("definition", "description", "def"),
    "types": ("semantic_types", "types", "type", "category"),
    "xrefs": ("xrefs", "xref", "mappings"),
    "language": ("language", "lang"),
    "source": ("source", "vocabulary"),
    "kind": ("kind",),
    "replaced_by": ("replaced_by", "successor"),
    "parents": ("parents", "parent", "is_a", "broader"),
}
_KINDS = {value.label: int(value) for value in NameKind}
_KNOWN = [name for names in USUAL.values() for name in names]
_ID_LISTS = {"xrefs": "xrefs", "parents": "parents", "replaced_by": "successors"}  # roles of lists of ids -> columns of rows
_ROWS = 10_000  # spreadsheet rows per batch


def matches(source: Source) -> bool:
    """Return whether a csv, tsv or xlsx has an id and a name column."""
    return any({"id", "name"} <= _columns(file, {}).keys() for file in _files(source))


class TableReaderConfig(PartConfig):
    """The column of each role, if not one of the usual names, and the prefix of ids that have none."""

    kind: Literal["table"] = "table"
    columns: dict[str, str] = Field(default_factory=dict, description="Column names by role: id, name, synonyms ...")
    prefix: str | None = Field(default=None, description="Prefix of ids without one; defaults to the file name.")


Config = TableReaderConfig  # the name that the registry looks up


def read(source: Source, config: TableReaderConfig | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows; multiple values in a cell are separated by `|`."""
    config = config or TableReaderConfig()
    for file in _files(source):
        found = _columns(file, config.columns)
        if not {"id", "name"} <= found.keys():
            fix = f"give them with --column id=COLUMN --column name=COLUMN; {describe_columns(_header(file, config.columns))}"
            raise ConfigError("table-columns", "cannot tell which columns are the id and the name", where=file.name, fix=fix)
        for batch in _iter_frames(file, config.columns, list(dict.fromkeys(found.values()))):
            frame = batch.select(**{role: pl.col(name) for role, name in found.items()})
            yield from _read_rows(
                frame.filter(pl.col("id").str.strip_chars() != ""), config.prefix or source.name.split(".")[0]
            )


def _files(source: Source) -> list[InputFile]:
    return source.matching("*.csv") + source.matching("*.tsv") + source.matching("*.xlsx")


def _is_sheet(file: InputFile) -> bool:
    return file.stem.endswith(".xlsx")


def _read_sheet(file: InputFile, *, peek: bool = False) -> Generator[tuple[str, ...]]:
    """Yield the rows of a spreadsheet, copied to disk for openpyxl. With `peek`, the file does not count as read."""
    require_xlsx()
    with copy_to_disk(file, peek=peek) as path:
        yield from read_xlsx(path, file.limits)


def _header(file: InputFile, named: Mapping[str, str]) -> list[str]:
    if not _is_sheet(file):
        return header(file, sniff_format(file, [*named.values(), *_KNOWN]))
    with closing(_read_sheet(file, peek=True)) as rows:
        return list(next(rows, ()))


def _iter_frames(file: InputFile, named: Mapping[str, str], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yield the columns as frames of strings."""
    if not _is_sheet(file):
        yield from map(pl.DataFrame, iter_table(file, sniff_format(file, [*named.values(), *_KNOWN]), columns))
        return
    rows = _read_sheet(file)
    there = list(next(rows, ()))
    require_columns(there, columns, file)
    at = {name: there.index(name) for name in columns}
    while some := list(islice(rows, _ROWS)):
        yield pl.DataFrame({name: [row[number] for row in some] for name, number in at.items()})


def _columns(file: InputFile, named: dict[str, str]) -> dict[str, str]:
    """Return the column of each role that the table has."""
    there = _header(file, named)
    lower = {name.lower(): name for name in there}
    found = {role: next((lower[n] for n in names if n in lower), None) for role, names in USUAL.items()}
    missing = [name for name in named.values() if name not in there]
    if missing:
        raise ConfigError("table-columns", f"no column named {missing[0]!r}", where=file.name, fix=describe_columns(there))
    return {role: name for role, name in {**found, **named}.items() if name is not None}


def _read_rows(frame: pl.DataFrame, prefix: str) -> Iterator[pa.RecordBatch]:
    present = set(frame.columns)
    rows = frame.with_columns(concept_id=curies(pl.col("id"), prefix))
    kinds = pl.col("kind").str.to_lowercase().replace_strict(_KINDS, default=int(NameKind.EXACT), return_dtype=pl.UInt8)
    shown = rows.select(
        "concept_id", "name",
        kinds if "kind" in present else kind(NameKind.PREFERRED),
        *[_blank_to_null(name) for name in ("language", "source", "definition") if name in present],
        *([bar_list("types").alias("semantic_types")] if "types" in present else []),
        *[curie_lists(rows, role, prefix).alias(column) for role, column in _ID_LISTS.items() if role in present],
    )  # fmt: skip
    yield from batches(shown)
    if "synonyms" in present:
        others = rows.with_columns(name=bar_list("synonyms")).explode("name").filter(pl.col("name").is_not_null())
        yield from batches(
            others.select(
                "concept_id", "name", kind(NameKind.EXACT), *[_blank_to_null(n) for n in ("language", "source") if n in present]
            )
        )


def _blank_to_null(column: str) -> pl.Expr:
    """Return a column with empty cells as null."""
    return pl.when(pl.col(column) != "").then(pl.col(column)).alias(column)
