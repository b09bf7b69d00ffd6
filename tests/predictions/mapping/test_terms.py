"""Reading terms and linking them."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import InputError
from onym.kb import KnowledgeBase
from onym.linkers.exact import ExactLinker
from onym.predictions.mapping.terms import map_terms, read_terms


def test_a_quoted_csv(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('n,"term"\n1,"pain, chest"\n2,fever\n')
    table = read_terms(path, "term")
    assert (table.columns, table.place, list(table.rows)) == (("n", "term"), 1, [("1", "pain, chest"), ("2", "fever")])


def test_a_missing_column_is_said_with_those_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("n\tterm\n1\tfever\n")
    with pytest.raises(InputError, match="table-columns") as caught:
        list(read_terms(path, "name").rows)
    assert "term" in caught.value.fix


def test_rows_keep_their_order_and_empty_cells_have_no_concept(tmp_path: Path, tiny_kb: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("n\tterm\n1\t Fever \n2\t\n3\tMI\n4\txyz\n")
    mappings = list(map_terms(read_terms(path, "term"), ExactLinker(KnowledgeBase.open(tiny_kb))))
    assert [mapping.cells[0] for mapping in mappings] == ["1", "2", "3", "4"]
    assert [len(mapping.candidates) for mapping in mappings] == [1, 0, 2, 0]
    assert [mapping.is_tied for mapping in mappings] == [False, False, True, False]
    assert mappings[0].term == "Fever"
