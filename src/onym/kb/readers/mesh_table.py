"""Reader of MeSH as tables without a header: id, label, synonyms, and tree numbers or (for supplements) mapped headings."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from onym.kb.readers._shared import bar_list, batches, kind, tree_parents
from onym.store.files.source import InputFile, Source
from onym.store.files.table import TableFormat, header, iter_table
from onym.types import NameKind, ParentKind

_UI = re.compile(r"^[CDQ]\d{6,9}$")
_MAPPED_TO = pl.lit(int(ParentKind.MAPPED_TO), dtype=pl.UInt8)
_FIELDS = ("id", "label", "synonyms", "trees", "taxon")


def matches(source: Source) -> bool:
    """Return whether a .tsv file begins with a row of a MeSH id, a label and synonyms."""
    return any(_fields(file) for file in source.matching("*.tsv"))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield labels, synonyms, tree branches as semantic types, parents, and mapped headings of supplementary records."""
    trees: list[pl.DataFrame] = []
    for file in source.matching("*.tsv"):
        if fields := _fields(file):
            for batch in iter_table(file, TableFormat(names=fields, quoted=True), fields):
                yield from _read_rows(pl.DataFrame(batch), trees)
    yield from tree_parents(trees)


def _fields(file: InputFile) -> tuple[str, ...]:
    first = header(file, TableFormat())
    return _FIELDS[: len(first)] if _UI.match(first[0]) and 3 <= len(first) <= 5 and ":" not in first[1] else ()


def _read_rows(frame: pl.DataFrame, trees: list[pl.DataFrame]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table, and add its tree numbers to `trees`."""
    rows = frame.with_columns(concept_id=pl.lit("mesh:") + pl.col("id"), language=pl.lit("en"))
    mapped = {"parents": _select_headings(), "parent_kind": _MAPPED_TO} if "trees" in rows.columns else {}
    yield from batches(rows.select("concept_id", kind(NameKind.PREFERRED), "language", name="label", **mapped))
    synonyms = rows.with_columns(name=bar_list("synonyms")).explode("name").filter(pl.col("name").is_not_null())
    yield from batches(synonyms.select("concept_id", "name", kind(NameKind.EXACT), "language"))
    if "trees" in rows.columns:
        numbers = bar_list("trees").list.eval(pl.element().filter(pl.element().str.contains(r"^[A-Z]\d\d\b")))
        trees.append(rows.select("concept_id", tree=numbers).explode("tree").drop_nulls())
        tops = numbers.list.eval(pl.element().str.head(3)).list.unique().list.sort()
        typed = rows.select("concept_id", semantic_types=tops).filter(pl.col("semantic_types").list.len() > 0)
        yield from batches(typed)


def _select_headings() -> pl.Expr:
    """Return the headings of supplementary records, whose column `trees` holds descriptor ids instead of tree numbers."""
    ui = pl.element().str.strip_chars()
    found = ui.filter(ui.str.contains(r"^D\d{6,9}$"))
    return pl.col("trees").str.split(",").list.eval(found.str.replace("^", "mesh:"))
