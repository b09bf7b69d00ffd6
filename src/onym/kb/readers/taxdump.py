"""Reader of NCBI Taxonomy (taxdump): names.dmp, nodes.dmp, merged.dmp and delnodes.dmp. All but names.dmp are optional.

Fields are separated by tab, bar, tab, and a line ends in tab, bar. A name may contain a bar, but no tab, so the files are read
as tables separated by tabs in which every other column is a bar.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl
import pyarrow as pa

from onym.kb.readers._shared import batches, kind
from onym.store.files.source import InputFile, Source
from onym.store.files.table import TableFormat, header, iter_table
from onym.types import NameKind, SuccessorKind

_KINDS = {  # name class -> kind; all other classes are synonyms
    "scientific name": NameKind.PREFERRED,
    "acronym": NameKind.ABBREVIATION, "genbank acronym": NameKind.ABBREVIATION,
    "includes": NameKind.NARROW,
    "blast name": NameKind.BROAD, "in-part": NameKind.BROAD,  # names of a group that the taxon is a part of
    "type material": NameKind.RELATED, "misnomer": NameKind.RELATED,  # strains; names used for this taxon by mistake
    "authority": NameKind.SUPPRESSED,  # citations: Homo sapiens Linnaeus, 1758
}  # fmt: skip


def matches(source: Source) -> bool:
    """Return whether the release has names.dmp."""
    return source.find("names.dmp") is not None


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield names, ranks as semantic types, parents, and merged and deleted ids."""
    for file in source.matching("names.dmp"):
        for frame in _frames(file, {0: "id", 2: "name", 6: "class"}):
            kinds = pl.col("class").replace_strict(_CODES, default=int(NameKind.EXACT), return_dtype=pl.UInt8)
            yield from batches(frame.select(_curie("id"), "name", kinds.alias("kind")))
    for file in source.matching("nodes.dmp"):
        for frame in _frames(file, {0: "id", 2: "parent", 4: "rank"}):
            above = pl.when(pl.col("parent") != pl.col("id")).then(pl.concat_list("ncbitaxon:" + pl.col("parent")))
            yield from batches(frame.select(_curie("id"), semantic_types=pl.concat_list("rank"), parents=above))
    for file in source.matching("merged.dmp"):
        for frame in _frames(file, {0: "id", 2: "successor"}):
            merged = pl.lit(int(SuccessorKind.MERGED), dtype=pl.UInt8)
            successors = pl.concat_list("ncbitaxon:" + pl.col("successor"))
            retired = frame.select(_curie("id"), kind(NameKind.RETIRED), successors=successors, successor_kind=merged)
            yield from batches(retired)
    for file in source.matching("delnodes.dmp"):
        for frame in _frames(file, {0: "id"}):
            yield from batches(frame.select(_curie("id"), kind(NameKind.RETIRED)))


_CODES = {name: int(value) for name, value in _KINDS.items()}


def _frames(file: InputFile, columns: Mapping[int, str]) -> Iterator[pl.DataFrame]:
    """Yield columns by position; later versions of a file have more columns, and all rows have as many as the first."""
    names = tuple(str(number) for number in range(len(header(file, TableFormat()))))
    for batch in iter_table(file, TableFormat(names=names), [str(number) for number in columns]):
        yield pl.DataFrame(batch).rename({str(number): name for number, name in columns.items()})


def _curie(column: str) -> pl.Expr:
    return ("ncbitaxon:" + pl.col(column)).alias("concept_id")
