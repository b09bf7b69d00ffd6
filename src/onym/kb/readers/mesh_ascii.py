"""Reader of MeSH in NLM's ASCII format (d20xx.bin, c20xx.bin): `KEY = value` lines, each record starts with `*NEWRECORD`."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from onym.errors import InputError, LimitError
from onym.kb.readers._shared import ABBREVIATION_TAGS, batches, head, kind, matching_files, tree_parents
from onym.store.files.lines import Block, iter_blocks
from onym.store.files.source import InputFile, Source
from onym.types import NameKind

_RECORD = b"*NEWRECORD"
_ABBREVIATION = rf"\|(?:{'|'.join(ABBREVIATION_TAGS)})(?:\||$)"  # among the fields after an entry term


def matches(source: Source) -> bool:
    """Return whether a .bin file begins with a record."""
    return any(_is_ascii_mesh(file) for file in source.matching("*.bin"))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield headings, entry terms, scope notes, semantic types, tree branches and parents."""
    trees: list[pl.DataFrame] = []
    for file in matching_files(source.matching("*.bin"), _is_ascii_mesh):
        for records in _whole_records(file):
            yield from _read_records(records, trees)
    yield from tree_parents(trees)


def _is_ascii_mesh(file: InputFile) -> bool:
    return head(file).startswith(_RECORD)


def _whole_records(file: InputFile) -> Iterator[Block]:
    """Yield blocks of complete records."""
    pending, first_line = b"", 1
    for block in iter_blocks(file):
        data = pending + block.data
        cut = data.rfind(b"\n" + _RECORD) + 1
        if cut:
            yield Block(data[:cut], first_line, file.name)
            first_line += data.count(b"\n", 0, cut)
        pending = data[cut:]
        if len(pending) > file.limits.block_bytes:
            what = f"one record is larger than {file.limits.block_bytes:,} bytes"
            raise LimitError("limit-record", what, where=f"{file.name}:{first_line}")
    if pending:
        yield Block(pending, first_line, file.name)


def _read_records(block: Block, trees: list[pl.DataFrame]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some records, and add their tree numbers to `trees`."""
    lines = pl.DataFrame({"line": block.data.decode().replace("\r", "").split("\n")}).with_columns(
        record=(pl.col("line") == _RECORD.decode()).cum_sum(),
        key=pl.col("line").str.extract(r"^([A-Z0-9_ ]{1,24}?) = ", 1),
        value=pl.col("line").str.extract(r"^[A-Z0-9_ ]{1,24}? = (.*)$", 1).str.strip_chars(),
    )
    ids = lines.filter(pl.col("key") == "UI").group_by("record", maintain_order=True).agg(ui=pl.col("value").first())
    if lines["record"].n_unique() - lines.filter(pl.col("record") == 0).select(pl.col("record").n_unique()).item() > ids.height:
        raise InputError("mesh-record", "a record has no UI line", where=block.where, fix="fetch the file again")
    rows = lines.join(ids, on="record", maintain_order="left").with_columns(concept_id=pl.lit("mesh:") + pl.col("ui"))
    names = rows.filter(pl.col("key").is_in(["MH", "NM", "ENTRY", "PRINT ENTRY", "SY"]))
    yield from batches(
        names.select(
            "concept_id",
            name=pl.col("value").str.split("|").list.first(),
            kind=pl.when(pl.col("key").is_in(["MH", "NM"])).then(kind(NameKind.PREFERRED))
            .when(pl.col("value").str.contains(_ABBREVIATION)).then(kind(NameKind.ABBREVIATION))
            .otherwise(kind(NameKind.EXACT)),
            language=pl.lit("en"),
        )
    )  # fmt: skip
    notes = rows.filter(pl.col("key").is_in(["MS", "NO"]) & (pl.col("value") != ""))
    yield from batches(notes.select("concept_id", definition="value"))
    types = rows.filter(pl.col("key") == "ST").select("concept_id", semantic_types=pl.concat_list("value"))
    numbers = rows.filter(pl.col("key") == "MN").select("concept_id", tree="value")
    trees.append(numbers)
    branches = numbers.select("concept_id", semantic_types=pl.concat_list(pl.col("tree").str.head(3)))
    yield from batches(pl.concat([types, branches]))
