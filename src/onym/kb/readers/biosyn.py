"""BioSyn's and SapBERT's dictionaries: `id||name` lines, where `id` may be several ids of one concept (`a|b`)."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from onym.errors import InputError
from onym.kb.curie import curies
from onym.kb.readers._frame import bar_list, batches, kind
from onym.store.lines import Block, iter_blocks
from onym.store.source import InputFile, Source
from onym.types import NameKind


def matches(source: Source) -> bool:
    """Tell whether a text file begins with an `id||name` line."""
    return any(_is_dictionary(file) for file in source.matching("*.txt"))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield names; the first id is the concept's, the others are cross-references. Bare numbers are OMIM's."""
    for file in source.matching("*.txt"):
        for block in iter_blocks(file):
            yield from _read_block(block)


def _is_dictionary(file: InputFile) -> bool:
    with file.open() as stream:
        first = stream.read(4096).split(b"\n")[0]
    return first.count(b"||") == 1 and not first.startswith(b"|")


def _read_block(block: Block) -> Iterator[pa.RecordBatch]:
    lines = pl.DataFrame({"line": block.data.decode().split("\n")}).filter(pl.col("line").str.strip_chars() != "")
    parts = pl.col("line").str.splitn("||", 2)
    rows = lines.select(ids=parts.struct[0], name=parts.struct[1].str.strip_chars())
    if rows["name"].null_count() or rows.filter(pl.col("ids").str.strip_chars("| ") == "").height:
        raise InputError("table-fields", "a line is not of the form id||name", where=block.where)
    prefixed = pl.element().str.strip_chars().str.replace(r"^(\d+)$", "omim:$1")
    rows = rows.with_columns(ids=pl.col("ids").str.replace_all("+", "|", literal=True))
    rows = rows.with_columns(ids=bar_list("ids").list.eval(prefixed))
    rows = rows.with_columns(concept_id=curies(pl.col("ids").list.first(), "mesh"), other=pl.col("ids").list.slice(1))
    yield from batches(rows.select("concept_id", "name", kind(NameKind.EXACT)))
    others = rows.explode("other").filter(pl.col("other").is_not_null()).unique(["concept_id", "other"], maintain_order=True)
    yield from batches(others.select("concept_id", xrefs=pl.concat_list(curies(pl.col("other"), "mesh"))))
