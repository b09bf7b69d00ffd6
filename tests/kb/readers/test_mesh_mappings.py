"""Tests of reading tables that map MeSH ids to ids of other vocabularies."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from onym.kb import readers
from onym.kb.readers import mesh_mappings
from onym.store.files.source import Source
from tests.kb.readers.conftest import facts_of, names_of, rows_of, source_of
from tests.support.releases import SAMPLES

MAPPED, NUMBERED = SAMPLES["mesh_mappings"]


def test_mapped_ids_give_cross_references_without_names() -> None:
    rows = rows_of(MAPPED, "mesh_mappings")
    assert facts_of(rows, "xrefs") == [("mesh:C900001", ["chebi:900001"]), ("mesh:C900003", ["uniprot:P90001"])]
    assert names_of(rows) == []


def test_cas_numbers_are_cross_references() -> None:
    rows = rows_of(NUMBERED, "mesh_mappings")
    assert facts_of(rows, "xrefs") == [("mesh:C900001", ["cas:900-01-6"]), ("mesh:C900003", ["cas:9000-02-1"])]


def test_rows_of_other_vocabularies_are_skipped() -> None:
    more = {"a.tsv": MAPPED["mesh_mappings.tsv"] + b"DOID\t1\ta\tMONDO\tMONDO:1\ta\n"}
    assert len(rows_of(more, "mesh_mappings")) == 2


@pytest.mark.parametrize(
    "line", ["C900001\tglucoquine\n", "C900001\t50-00-0\tx\n", "CHEBI\tC900001\ta\tMESH\tb\tc\n", "a\tb\n"]
)
def test_other_tables_are_not_recognised(line: str) -> None:
    assert not mesh_mappings.matches(source_of({"a.tsv": line}))


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "rows"), [("mesh_mappings", 28_737), ("mesh_cas_mappings", 41_451)])
def test_reads_real_tables(real_data: Path, name: str, rows: int) -> None:
    source = Source.open(real_data / "mesh" / f"{name}.tsv.gz")
    assert readers.detect(source) == "mesh_mappings"
    assert sum(pl.DataFrame(batch).height for batch in readers.read(source, "mesh_mappings")) == rows
