"""Tests of reading the complete set of HGNC."""

from __future__ import annotations

from onym.kb import readers
from tests.kb.readers.conftest import facts_of, names_of, rows_of, source_of
from tests.support.releases import SAMPLES

(TABLE,) = SAMPLES["hgnc"]
GENE = "hgnc:900001"


def test_is_recognised() -> None:
    assert readers.detect(source_of(TABLE)) == "hgnc"


def test_reads_names_and_withdrawn_entries() -> None:
    assert names_of(rows_of(TABLE, "hgnc")) == [
        ("hgnc:900002", "MUG2", "retired"),
        (GENE, "MUG1", "preferred"),
        (GENE, "made-up gene 1", "exact"),
        (GENE, "GQR", "exact"),
        (GENE, "p90", "exact"),
        (GENE, "OLD1", "exact"),
        (GENE, "old gene, 1", "exact"),
    ]


def test_reads_species_and_cross_references() -> None:
    rows = rows_of(TABLE, "hgnc")
    assert facts_of(rows, "semantic_types") == [(GENE, ["ncbitaxon:9606", "protein-coding gene"])]
    found = [("ncbigene:900002",), ("ensembl:ENSG1",), ("omim:900100",), ("omim:900101",)]
    assert facts_of(rows, "xrefs") == [(GENE, list(ids)) for ids in found]
