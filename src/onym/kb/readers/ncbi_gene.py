"""Reader of NCBI Gene: `gene_info`, of all species or of one, and `gene_history`.

The tables are streamed. Rows of species that were not chosen are dropped before names are made of them. The species of a gene
is one of its semantic types: an id of NCBI Taxonomy, `ncbitaxon:9606`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import polars as pl
import pyarrow as pa
from pydantic import Field

from onym.kb.curie import curies
from onym.kb.readers._shared import bar_list, batches, kind, taxon
from onym.kb.schema import make_skip_note
from onym.parts import PartConfig
from onym.store.files.source import InputFile, Source
from onym.store.files.table import TableFormat, header, iter_table
from onym.types import NameKind

_SYMBOL, _NAME = "Symbol_from_nomenclature_authority", "Full_name_from_nomenclature_authority"
_EXACT, _RELATED = ("LocusTag", _SYMBOL, _NAME, "description", "Synonyms"), ("Other_designations",)
_INFO = ("GeneID", "Symbol", "dbXrefs", "type_of_gene", *_EXACT, *_RELATED)
_HISTORY = ("GeneID", "Discontinued_GeneID", "Discontinued_Symbol", "Discontinue_Date")
_LISTS = ("Synonyms", "Other_designations")  # several names in a cell, separated by bars
_NEW = "NEWENTRY"  # the symbol of a record that stands for all genes of a species that Gene does not have
_UNNAMED = r"(?i)^(?:uncharacterized|hypothetical|conserved hypothetical|predicted|putative|unnamed) protein(?: product)?$"
_FORM = TableFormat(comment="# ")  # comments that somebody added; the header itself begins with `#tax_id`


class NcbiGeneReaderConfig(PartConfig):
    """The species to read."""

    kind: Literal["ncbi_gene"] = "ncbi_gene"
    species: tuple[str, ...] = Field(default=(), description="Taxon ids, such as 9606; empty means all species.")


Config = NcbiGeneReaderConfig  # the name that the registry looks up


def matches(source: Source) -> bool:
    """Return whether the release has a gene_info or gene_history file."""
    return bool(source.matching("*gene_info*") or source.matching("*gene_history*"))


def read(source: Source, config: NcbiGeneReaderConfig | None = None) -> Iterator[pa.RecordBatch]:
    """Yield names, species, gene types and cross-references of genes, and discontinued ids with their successors."""
    species = (config or NcbiGeneReaderConfig()).species
    for file in source.matching("*gene_info*"):
        yield from _read(file, _INFO, species, _read_genes)
    for file in source.matching("*gene_history*"):
        yield from _read(file, _HISTORY, species, _read_discontinued)


_ReadRows = Callable[[pl.DataFrame], Iterator[pa.RecordBatch]]


def _read(file: InputFile, columns: Sequence[str], species: Sequence[str], read_rows: _ReadRows) -> Iterator[pa.RecordBatch]:
    tax_id = "tax_id" if "tax_id" in header(file, _FORM) else "#tax_id"
    for batch in iter_table(file, _FORM, [tax_id, *columns]):
        frame = pl.DataFrame(batch).rename({tax_id: "tax_id"})
        chosen = frame.filter(pl.col("tax_id").is_in(species)) if species else frame
        yield from read_rows(chosen)
        if chosen.height < frame.height:
            yield make_skip_note("row of another species", frame.height - chosen.height)


def _read_genes(frame: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    genes = frame.with_columns(_curie("GeneID"))
    symbol_kind = pl.when(pl.col("Symbol") == _NEW).then(kind(NameKind.SUPPRESSED)).otherwise(kind(NameKind.PREFERRED))
    types = pl.concat_list(taxon("tax_id"), "type_of_gene")
    yield from batches(genes.select("concept_id", symbol_kind.alias("kind"), name="Symbol", semantic_types=types))
    for column in _EXACT:
        yield from batches(_select_names(genes, column, NameKind.EXACT))
    for column in _RELATED:
        yield from batches(_select_names(genes, column, NameKind.RELATED))
    yield from batches(_select_xrefs(genes))


def _select_names(genes: pl.DataFrame, column: str, name_kind: NameKind) -> pl.DataFrame:
    """Return the names of a column that differ from the symbol; names that stand for no gene in particular are suppressed."""
    written = genes.select("concept_id", "Symbol", name=column).filter(pl.col("name") != "-")
    if column in _LISTS:
        written = written.with_columns(name=bar_list("name")).explode("name").drop_nulls("name")
    names = written.filter(pl.col("name") != pl.col("Symbol"))
    is_vague = (pl.col("Symbol") == _NEW) | pl.col("name").str.contains(_UNNAMED)
    kinds = pl.when(is_vague).then(kind(NameKind.SUPPRESSED)).otherwise(kind(name_kind))
    return names.select("concept_id", "name", kinds.alias("kind"))


def _select_xrefs(genes: pl.DataFrame) -> pl.DataFrame:
    """Return the cross-references. The Alliance of Genome Resources repeats ids of others: `AllianceGenome:HGNC:5`."""
    written = genes.select("concept_id", xref=bar_list("dbXrefs")).explode("xref").filter(pl.col("xref") != "-")
    ids = written.select("concept_id", xref=curies(pl.col("xref").str.replace("^AllianceGenome:", ""), "ncbigene"))
    return ids.unique(maintain_order=True).select("concept_id", xrefs=pl.concat_list("xref"))


def _read_discontinued(frame: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    """Yield discontinued ids. The successor is `-` if there is none; `release` is the date."""
    successor = pl.when(pl.col("GeneID") != "-").then(pl.concat_list("ncbigene:" + pl.col("GeneID")))
    retired = frame.select(
        _curie("Discontinued_GeneID"), kind(NameKind.RETIRED), name="Discontinued_Symbol", successors=successor,
        release="Discontinue_Date",
    )  # fmt: skip
    yield from batches(retired)


def _curie(column: str) -> pl.Expr:
    return ("ncbigene:" + pl.col(column)).alias("concept_id")
