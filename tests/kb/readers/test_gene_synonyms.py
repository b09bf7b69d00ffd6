"""Tests of reading tables of gene symbols and synonyms."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from onym.errors import InputError
from onym.kb import readers
from onym.store.files.source import Source
from tests.kb.readers.conftest import facts_of, names_of, rows_of, source_of
from tests.support.releases import SAMPLES

(TABLE,) = SAMPLES["gene_synonyms"]


def test_reads_symbols_synonyms_and_species() -> None:
    rows = rows_of(TABLE, "gene_synonyms")
    assert names_of(rows) == [
        ("ncbigene:900002", "Mug1", "preferred"),
        ("ncbigene:900004", "Mug2", "preferred"),
        ("ncbigene:900002", "GQR", "exact"),
        ("ncbigene:900002", "p90", "exact"),
    ]
    assert facts_of(rows, "semantic_types") == [(f"ncbigene:90000{n}", ["ncbitaxon:10090"]) for n in (2, 4)]


@pytest.mark.parametrize("line", ["1", "|Mug1", "x|Mug1", "1| |"])
def test_rejects_malformed_lines(line: str) -> None:
    with pytest.raises(InputError) as e:
        rows_of({"10090.txt": f"900002|Mug1\n\n{line}\n"}, "gene_synonyms")
    assert e.value.code == "table-fields"


def test_other_numbered_files_are_not_taken_for_genes() -> None:
    assert readers.detect(source_of({"10090.txt": "D001||name\n"})) == "biosyn"


@pytest.mark.real_data
def test_reads_a_genuine_file(real_data: Path) -> None:
    source = Source.open(real_data / "genes" / "synonyms_2026" / "6239.txt.gz")
    assert readers.detect(source) == "gene_synonyms"
    rows = pl.concat([pl.DataFrame(batch) for batch in readers.read(source, "gene_synonyms")])
    with source.files[0].open() as stream:
        lines = stream.read().decode().splitlines()
    assert rows.filter(pl.col("kind") == 0).height == rows["concept_id"].n_unique() == len(lines)
    assert rows.height == sum(line.count("|") for line in lines)
