"""Tests of reading CTD's disease vocabulary, MEDIC."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from onym.errors import InputError
from onym.kb import readers
from onym.store.files.source import Source
from tests.kb.readers.conftest import facts_of, names_of, rows_of
from tests.support.releases import SAMPLES

TABLE, MEDIC = SAMPLES["ctd"]


def test_reads_the_table() -> None:
    rows = rows_of(TABLE, "ctd")
    assert names_of(rows) == [
        ("mesh:D900001", "Made-up Fever", "preferred"),
        ("omim:900200", "Other", "preferred"),
        ("mesh:D900001", "Doubtful Fever", "exact"),
        ("mesh:D900001", "Fever, Made-up", "exact"),
    ]
    assert facts_of(rows, "definition") == [("mesh:D900001", 'A rise "of doubt".')]
    assert facts_of(rows, "xrefs") == [("mesh:D900001", ["doid:900001"]), ("mesh:D900001", ["omim:900100"])]
    assert facts_of(rows, "semantic_types") == [("mesh:D900001", ["C01", "C23"])]


def test_quotes_are_literal_characters() -> None:
    rows = rows_of({"CTD_diseases.tsv": '# a "comment\n"Odd\tMESH:D1\t\t\t\t\t\t"a|b"\t\n'}, "ctd")
    assert [name for _, name, _ in names_of(rows)] == ['"Odd', '"a', 'b"']


def test_reads_medic_lines() -> None:
    rows = rows_of(MEDIC, "ctd")
    assert names_of(rows) == [
        ("mesh:D900001", "Made-up Fever", "preferred"),
        ("mesh:C900001", "Glucoquine Poisoning", "preferred"),
        ("omim:900200", "Other", "preferred"),
        ("mesh:D900001", "Doubtful Fever", "exact"),
        ("mesh:D900001", "MUF", "exact"),
    ]
    assert facts_of(rows, "xrefs") == [("mesh:D900001", ["omim:900100"]), ("omim:900200", ["mesh:D900003"])]


def test_only_the_line_feed_ends_a_line() -> None:
    rows = rows_of({"medic.txt": "D1||a\u2028b\x85c\x0bd\n"}, "ctd")
    assert names_of(rows) == [("mesh:D1", "a\u2028b\x85c\x0bd", "preferred")]


@pytest.mark.parametrize("line", ["D1|name", "||name", "D1||", "D1", "|||"])
def test_rejects_malformed_lines(line: str) -> None:
    with pytest.raises(InputError) as e:
        rows_of({"medic.txt": f"D1||a\n\n{line}\n"}, "ctd")
    assert e.value.code == "table-fields"


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "concepts", "names", "definitions"),
    [("CTD_diseases.tsv.gz", 11_865, 77_817, 4_691), ("medic_06Jul2012.txt", 11_915, 76_052, 0)],
)
def test_reads_real_vocabularies(real_data: Path, name: str, concepts: int, names: int, definitions: int) -> None:
    source = Source.open(real_data / "medic" / name)
    assert readers.detect(source) == "ctd"
    rows = pl.concat([pl.DataFrame(batch) for batch in readers.read(source, "ctd")])
    assert rows.filter(pl.col("kind") == 0).height == rows["concept_id"].n_unique() == concepts
    assert rows["name"].drop_nulls().n_unique() == names
    assert rows["definition"].drop_nulls().len() == definitions
