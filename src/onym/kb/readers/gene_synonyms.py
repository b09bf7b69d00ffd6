"""Reader of tables of gene symbols and synonyms: `10090.txt`, named by the species, with lines `gene id|symbol|synonym|...`.

They are the tables of the R package geneSynonym, made from `gene_info`. They have no full names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from onym.errors import InputError
from onym.kb.readers._shared import bar_list, batches, head, kind
from onym.store.files.lines import Block, iter_blocks
from onym.store.files.source import InputFile, Source
from onym.types import NameKind

_NAME = re.compile(r"([0-9]+)\.txt")
_LINE = re.compile(rb"[0-9]+\|[^|\s]")


def matches(source: Source) -> bool:
    """Return whether a file is named by a taxon id and begins with a gene id and a symbol."""
    return any(_LINE.match(head(file)) for file in _files(source))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield symbols, synonyms and species."""
    for file in _files(source):
        for block in iter_blocks(file):
            yield from _read_block(block, f"ncbitaxon:{file.stem.removesuffix('.txt')}")


def _files(source: Source) -> list[InputFile]:
    return [file for file in source.matching("[0-9]*.txt") if _NAME.fullmatch(file.stem)]


def _read_block(block: Block, species: str) -> Iterator[pa.RecordBatch]:
    text = block.data.decode().removeprefix("\ufeff")
    lines = pl.DataFrame({"line": text.split("\n")}).select(pl.col("line").str.strip_chars()).filter(pl.col("line") != "")
    cells = lines.select(id=pl.col("line").str.extract(r"^([0-9]+)\|"), names=bar_list("line").list.slice(1))
    if cells.filter(pl.col("id").is_null() | (pl.col("names").list.len() == 0)).height:
        fix = "write each line as id|symbol|synonym, or fetch the file again"
        raise InputError("table-fields", "a line is not of the form id|symbol", where=block.where, fix=fix)
    genes = cells.with_columns(concept_id="ncbigene:" + pl.col("id"))
    symbols = genes.select("concept_id", kind(NameKind.PREFERRED), name=pl.col("names").list.first())
    yield from batches(symbols.with_columns(semantic_types=pl.concat_list(pl.lit(species))))
    others = genes.select("concept_id", kind(NameKind.EXACT), name=pl.col("names").list.slice(1)).explode("name")
    yield from batches(others.drop_nulls("name"))
