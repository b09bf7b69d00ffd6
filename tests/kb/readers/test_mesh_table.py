"""Tests of reading MeSH from tables without a header."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from onym.errors import InputError
from onym.kb import readers
from onym.kb.readers import mesh_table
from onym.store.files.source import Source
from onym.types import ParentKind
from tests.kb.readers.conftest import facts_of, names_of, rows_of, source_of
from tests.support.releases import SAMPLES

DESCRIPTORS, SUPPLEMENTS = SAMPLES["mesh_table"]


def test_reads_descriptors() -> None:
    rows = rows_of(DESCRIPTORS, "mesh_table")
    assert names_of(rows) == [
        ("mesh:D900001", "Made-up Fever", "preferred"),
        ("mesh:D900002", "Other", "preferred"),
        ("mesh:D900001", 'Doubtful "old" Fever', "exact"),
        ("mesh:D900001", "Fever, Made-up", "exact"),
    ]
    assert facts_of(rows, "semantic_types") == [("mesh:D900001", ["C01", "C23"]), ("mesh:D900002", ["C01"])]


def test_mapped_headings_of_a_supplement_are_not_tree_branches() -> None:
    rows = rows_of(SUPPLEMENTS, "mesh_table")
    assert [name for _, name, _ in names_of(rows)] == ["glucoquine", "other", "Brandoquin", "GQ"]
    assert facts_of(rows, "semantic_types") == []
    assert facts_of(rows, "parents") == [("mesh:C900001", ["mesh:D900001"]), ("mesh:C900002", [])]


def test_a_supplement_may_be_mapped_to_several_headings() -> None:
    rows = rows_of({"a.tsv": "C000001\ta\t\tD000001, D000002\n"}, "mesh_table")
    assert facts_of(rows, "parents") == [("mesh:C000001", ["mesh:D000001", "mesh:D000002"])]


def test_tree_numbers_give_parents_and_are_no_mapped_headings() -> None:
    rows = rows_of({"a.tsv": "D000001\ta\t\tC01.1.2|C02\nD000002\tb\t\tC01.1\nD000003\tc\t\tC01.1|C03.9\n"}, "mesh_table")
    stated = [(row["concept_id"], row["parents"], ParentKind(row["parent_kind"])) for row in rows if row.get("parents")]
    assert stated == [("mesh:D000001", ["mesh:D000002", "mesh:D000003"], ParentKind.BROADER)]


@pytest.mark.parametrize(
    "line",
    [
        "id\tname\tsynonyms\n",
        "MESH:D000001\ta\tb\n",
        "D000001\ta\n",
        "D000001\tCHEBI:1\tb\tc\n",
        "D1\ta\tb\n",
        "D000001\ta\tb\tc\td\te\n",
    ],
)
def test_other_tables_are_not_recognised(line: str) -> None:
    assert not mesh_table.matches(source_of({"a.tsv": line}))


def test_rejects_a_row_with_the_wrong_number_of_fields() -> None:
    with pytest.raises(InputError) as e:
        rows_of({"a.tsv": "D000001\ta\tb\tC01\nD000002\ta\tb\n"}, "mesh_table")
    assert e.value.code == "table-fields"


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "ids", "names"),
    [
        ("mesh_id_label_mappings", 30_764, 168_170),
        ("mesh_supp_id_label_mappings", 323_304, 615_807),
        ("indra1.18_mesh_id_label_mappings", 29_640, None),
        ("indra1.18_mesh_supp_id_label_mappings", 269_481, None),
    ],
)
def test_reads_real_tables(real_data: Path, name: str, ids: int, names: int | None) -> None:
    source = Source.open(real_data / "mesh" / f"{name}.tsv.gz")
    assert readers.detect(source) == "mesh_table"
    rows = pl.concat([pl.DataFrame(batch).select("concept_id", "name") for batch in readers.read(source, "mesh_table")])
    assert rows["concept_id"].n_unique() == ids
    assert names is None or rows["name"].drop_nulls().n_unique() == names
