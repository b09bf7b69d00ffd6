"""BioSyn's and SapBERT's dictionaries: `id||name` lines.

`a|b` are several ids of one concept. `a+b` are two concepts that a name means together: it becomes a name of each.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from onym.errors import InputError
from onym.kb.curie import curies
from onym.kb.readers._files import chosen, head
from onym.kb.readers._frame import bar_list, batches, kind, omim_numbers
from onym.store.lines import Block, iter_blocks
from onym.store.source import InputFile, Source
from onym.types import NameKind


def matches(source: Source) -> bool:
    """Tell whether a text file begins with an `id||name` line."""
    return any(_is_dictionary(file) for file in source.matching("*.txt"))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield names; the first id is the concept's, the others are cross-references. Bare numbers are OMIM's."""
    for file in chosen(source.matching("*.txt"), _is_dictionary):
        for block in iter_blocks(file):
            yield from _read_block(block)


def _is_dictionary(file: InputFile) -> bool:
    first = head(file).split(b"\n")[0]
    return first.count(b"||") == 1 and not first.startswith(b"|")


def _read_block(block: Block) -> Iterator[pa.RecordBatch]:
    lines = pl.DataFrame({"line": block.data.decode().split("\n")}).filter(pl.col("line").str.strip_chars() != "")
    parts = pl.col("line").str.splitn("||", 2)
    rows = lines.select(ids=parts.struct[0], name=parts.struct[1].str.strip_chars())
    together = pl.element().str.contains("+", literal=True)
    named = bar_list("ids").list.eval(pl.element().filter((pl.int_range(pl.len()) == 0) | together))
    members = named.list.join("+").str.split("+").list.eval(omim_numbers()).list.eval(pl.element().filter(pl.element() != ""))
    alone = ~pl.col("ids").str.split("|").list.first().str.contains("+", literal=True)
    others = bar_list("ids").list.eval(omim_numbers()).list.slice(1).list.eval(pl.element().filter(~together))
    rows = rows.with_columns(members=members.list.unique(maintain_order=True), other=pl.when(alone).then(others))
    if rows["name"].null_count() or rows.filter(pl.col("members").list.len() == 0).height:
        raise InputError("table-fields", "a line is not of the form id||name", where=block.where)
    names = rows.explode("members")
    yield from batches(names.select(_curie("members"), "name", kind(NameKind.EXACT)))
    linked = rows.select(_curie(pl.col("members").list.first()), "other").explode("other")
    linked = linked.filter(pl.col("other").is_not_null()).unique(maintain_order=True)
    yield from batches(linked.select("concept_id", xrefs=pl.concat_list(curies(pl.col("other"), "mesh"))))


def _curie(column: pl.Expr | str) -> pl.Expr:
    return curies(pl.col(column) if isinstance(column, str) else column, "mesh").alias("concept_id")
