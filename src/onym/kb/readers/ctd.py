"""Reader of CTD's disease vocabulary MEDIC: CTD_diseases.tsv, or the older `id|alternative||name|synonym` lines."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from onym.errors import InputError
from onym.kb.curie import curies
from onym.kb.readers._shared import bar_list, batches, curie_lists, kind, omim_numbers
from onym.store.files.lines import Block, iter_blocks
from onym.store.files.source import Source
from onym.store.files.table import TableFormat, iter_table
from onym.types import NameKind, ParentKind

_FIELDS = (
    "DiseaseName", "DiseaseID", "AltDiseaseIDs", "Definition", "ParentIDs",
    "TreeNumbers", "ParentTreeNumbers", "Synonyms", "SlimMappings",
)  # fmt: skip


def matches(source: Source) -> bool:
    """Return whether the release has CTD's table or a MEDIC text file."""
    return source.find("ctd_diseases*.tsv") is not None or source.find("medic*.txt") is not None


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield disease names, synonyms, definitions, parents, and alternative ids (also as cross-references)."""
    for file in source.matching("ctd_diseases*.tsv"):
        for batch in iter_table(file, TableFormat(names=_FIELDS, comment="#"), _FIELDS):
            yield from _read_table(pl.DataFrame(batch))
    for file in source.matching("medic*.txt"):
        for block in iter_blocks(file):
            yield from _read_medic(block)


def _read_table(frame: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    rows = frame.with_columns(concept_id=curies(pl.col("DiseaseID"), "mesh"), language=pl.lit("en"))
    yield from batches(rows.select("concept_id", kind(NameKind.PREFERRED), "language", name="DiseaseName"))
    synonyms = rows.with_columns(name=bar_list("Synonyms")).explode("name").filter(pl.col("name").is_not_null())
    yield from batches(synonyms.select("concept_id", "name", kind(NameKind.EXACT), "language"))
    defined = rows.filter(pl.col("Definition") != "")
    yield from batches(defined.select("concept_id", definition="Definition"))
    yield from _alternatives(rows.with_columns(other=bar_list("AltDiseaseIDs")))
    broader = pl.lit(int(ParentKind.BROADER), dtype=pl.UInt8)
    above = rows.select("concept_id", parents=curie_lists(rows, "ParentIDs", "mesh"), parent_kind=broader)
    yield from batches(above.drop_nulls("parents"))
    tops = bar_list("TreeNumbers").list.eval(pl.element().str.head(3)).list.unique().list.sort()
    yield from batches(rows.select("concept_id", semantic_types=tops).filter(pl.col("semantic_types").list.len() > 0))


def _read_medic(block: Block) -> Iterator[pa.RecordBatch]:
    """Read lines such as `D1|613097||name|synonym`; the first id is the concept's, and bare numbers are OMIM ids."""
    lines = pl.DataFrame({"line": block.data.decode().split("\n")}).filter(pl.col("line").str.strip_chars() != "")
    halves = pl.col("line").str.strip_chars_end("\r").str.splitn("||", 2)
    rows = lines.select(ids=halves.struct[0], names=halves.struct[1].fill_null(""))
    rows = rows.select(ids=bar_list("ids").list.eval(omim_numbers()), name=bar_list("names"))
    if rows.filter((pl.col("ids").list.len() == 0) | (pl.col("name").list.len() == 0)).height:
        fix = "write each line as id||name, or fetch the file again"
        raise InputError("table-fields", "a line is not of the form id||name", where=block.where, fix=fix)
    rows = rows.with_columns(concept_id=curies(pl.col("ids").list.first(), "mesh"))
    first = rows.select("concept_id", kind(NameKind.PREFERRED), name=pl.col("name").list.first())
    rest = rows.with_columns(name=pl.col("name").list.slice(1)).explode("name").filter(pl.col("name").is_not_null())
    yield from batches(first)
    yield from batches(rest.select("concept_id", "name", kind(NameKind.EXACT)))
    yield from _alternatives(rows.with_columns(other=pl.col("ids").list.slice(1)))


def _alternatives(rows: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    found = rows.explode("other").filter(pl.col("other").is_not_null())
    others = pl.concat_list(curies(pl.col("other"), "mesh"))
    yield from batches(found.select("concept_id", xrefs=others, alternative_ids=others))
