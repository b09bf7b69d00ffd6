"""Reader of the complete set of HGNC, `hgnc_complete_set.txt`: symbols, names and cross-references of human genes.

Written from the specification of the table. Cells with several values have quotes around them and bars between them.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from onym.kb.readers._shared import bar_list, batches, head, kind
from onym.store.files.source import InputFile, Source
from onym.store.files.table import TableFormat, iter_table
from onym.types import NameKind

_FORM = TableFormat(quoted=True)
_HUMAN = "ncbitaxon:9606"
_EXACT = ("name", "alias_symbol", "alias_name", "prev_symbol", "prev_name")
_XREFS = {"entrez_id": "ncbigene:", "ensembl_gene_id": "ensembl:", "omim_id": "omim:"}
_COLUMNS = ("hgnc_id", "symbol", "locus_group", "status", *_EXACT, *_XREFS)


def matches(source: Source) -> bool:
    """Return whether a file begins with the header of the complete set."""
    return bool(_files(source))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield names, species, locus groups and cross-references of genes; withdrawn entries are retired ids."""
    for file in _files(source):
        for batch in iter_table(file, _FORM, _COLUMNS):
            frame = pl.DataFrame(batch).with_columns(concept_id="hgnc:" + pl.col("hgnc_id").str.replace("^HGNC:", ""))
            is_current = pl.col("status") == "Approved"
            withdrawn = frame.filter(~is_current).select("concept_id", kind(NameKind.RETIRED), name="symbol")
            yield from batches(withdrawn)
            yield from _read_genes(frame.filter(is_current))


def _files(source: Source) -> list[InputFile]:
    return [file for file in source.matching("*.t*") if head(file).startswith(b"hgnc_id\tsymbol\t")]


def _read_genes(genes: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    types = pl.concat_list(pl.lit(_HUMAN), "locus_group")
    yield from batches(genes.select("concept_id", kind(NameKind.PREFERRED), name="symbol", semantic_types=types))
    for column in _EXACT:
        names = genes.select("concept_id", kind(NameKind.EXACT), name=bar_list(column)).explode("name")
        yield from batches(names.drop_nulls("name"))
    for column, prefix in _XREFS.items():
        ids = genes.select("concept_id", xref=bar_list(column)).explode("xref").drop_nulls("xref")
        yield from batches(ids.select("concept_id", xrefs=pl.concat_list(prefix + pl.col("xref"))))
