"""Reader of BioSyn's and SapBERT's dictionaries: `id||name` lines.

`a|b` are several ids of one concept. `a+b` are two concepts that the name denotes together; it becomes a name of each.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from onym.errors import InputError
from onym.kb.curie import curies
from onym.kb.readers._shared import bar_list, batches, head, kind, matching_files, omim_numbers
from onym.store.files.lines import Block, iter_blocks
from onym.store.files.source import InputFile, Source
from onym.types import NameKind


def matches(source: Source) -> bool:
    """Return whether a text file begins with an `id||name` line."""
    return any(_is_dictionary(file) for file in source.matching("*.txt"))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield names. If ids are separated by `|`, the first is the concept's id, the others are alternative ids."""
    for file in matching_files(source.matching("*.txt"), _is_dictionary):
        for block in iter_blocks(file):
            yield from _read_block(block)


def _is_dictionary(file: InputFile) -> bool:
    first = head(file).split(b"\n")[0]
    return first.count(b"||") == 1 and not first.startswith(b"|")


def _read_block(block: Block) -> Iterator[pa.RecordBatch]:
    lines = pl.DataFrame({"line": block.data.decode().split("\n")}).filter(pl.col("line").str.strip_chars() != "")
    parts = pl.col("line").str.splitn("||", 2)
    rows = lines.select(
        together=parts.struct[0].str.contains("+", literal=True),
        ids=parts.struct[0].str.replace_all("+", "|", literal=True),
        name=parts.struct[1].str.strip_chars(),
    ).with_columns(ids=bar_list("ids").list.eval(omim_numbers()))
    if rows["name"].null_count() or (rows["ids"].list.len() == 0).any():
        fix = "write each line as id||name"
        raise InputError("table-fields", "a line is not of the form id||name", where=block.where, fix=fix)
    several = rows.filter("together").with_columns(id=pl.col("ids").list.unique(maintain_order=True)).explode("id")
    yield from _names(several)
    alone = rows.filter(~pl.col("together")).with_columns(id=pl.col("ids").list.first(), other=pl.col("ids").list.slice(1))
    yield from _names(alone)
    linked = alone.select("id", "other").explode("other").filter(pl.col("other").is_not_null()).unique(maintain_order=True)
    others = pl.concat_list(_curies("other"))
    yield from batches(linked.select(concept_id=_curies("id"), xrefs=others, alternative_ids=others))


def _names(rows: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    yield from batches(rows.select("name", kind(NameKind.EXACT), concept_id=_curies("id")))


def _curies(column: str) -> pl.Expr:
    return curies(pl.col(column), "mesh")
