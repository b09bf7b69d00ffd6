"""Tests of mapping a table of terms to another table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from onym.errors import ConfigError, InputError, LimitError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked
from onym.methods.base import Rank
from onym.methods.exact import ExactLinker
from onym.outputs.mapping import map_table, map_terms, read_terms, require_mapping
from onym.outputs.rows import read_rows
from onym.outputs.table import TERM_COLUMNS as COLUMNS
from onym.pipeline import Pipeline
from onym.store.files.xlsx import read_cells, write_xlsx
from onym.text.queries import Query


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    path = tmp_path / "terms.tsv"
    path.write_text('term\nfever\nMI\n""\nxyz\n')
    return path


def test_extension_selects_the_format(terms: Path, tiny_kb: Path, tmp_path: Path) -> None:
    pipeline, steps = Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb))), list[tuple[str, int]]()
    counts = map_table(terms, "term", pipeline, tmp_path / "a.tsv", progress=lambda *step: steps.append(step))
    assert counts == {"rows": 4, "empty": 1, "mapped": 2, "tied": 1, "unmapped": 1}
    assert steps == [("mapping", 1), ("mapping", 2), ("mapping", 3), ("mapping", 4)]
    assert (tmp_path / "a.tsv").read_text().splitlines()[1].startswith("fever\tMESH:D005334\tFever\tFever\t1.0\t\t0")
    map_table(terms, "term", pipeline, tmp_path / "a.sssom.tsv")
    assert (tmp_path / "a.sssom.tsv").read_text().startswith("#mapping_set_id")


def test_rejects_unknown_extension_before_reading(tiny_kb: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'.doc' is not a table format"):
        map_table(tmp_path / "none.tsv", "term", Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb))), tmp_path / "a.doc")


def test_rejects_too_many_rows_for_a_sheet(terms: Path, tiny_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.store.files.xlsx.MAX_ROWS", 4)
    with pytest.raises(ConfigError, match="xlsx-limit"):
        require_mapping(terms, "term", tmp_path / "a.xlsx")
    monkeypatch.setattr("onym.store.files.xlsx.MAX_ROWS", 5)
    pipeline = Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb)))
    assert map_table(terms, "term", pipeline, tmp_path / "a.xlsx")["mapped"] == 2
    assert read_rows(tmp_path / "a.xlsx", COLUMNS)["concept_id"].to_list()[0] == "MESH:D005334"


def test_keeps_numbers_and_dates_of_a_spreadsheet(tiny_kb: Path, tmp_path: Path) -> None:
    row = [17, 2.5, datetime(2026, 5, 5), True, None, "fever", "07"]
    with (tmp_path / "in.xlsx").open("wb") as file:
        write_xlsx([row, [0, None, None, None, None, 12, None]], ["n", "dose", "day", "ok", "note", "term", "code"], file)
    pipeline = Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb)))
    counts = map_table(tmp_path / "in.xlsx", "term", pipeline, tmp_path / "out.xlsx")
    assert (counts["rows"], counts["mapped"]) == (2, 1)
    _, first, second = read_cells(tmp_path / "out.xlsx")
    assert list(first[:7]) == row
    assert [type(value) for value in first[:7]] == [type(value) for value in row]
    assert second[:6] == (0, None, None, None, None, 12)
    map_table(tmp_path / "in.xlsx", "term", pipeline, tmp_path / "out.csv")
    assert (
        (tmp_path / "out.csv").read_text().splitlines()[1].startswith("17,2.5,2026-05-05T00:00:00,True,,fever,07,MESH:D005334")
    )


def test_rows_keep_their_order_and_empty_cells_have_no_concept(tmp_path: Path, tiny_kb: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("n\tterm\n1\t Fever \n2\t\n3\tMI\n4\txyz\n")
    mappings = list(map_terms(read_terms(path, "term"), Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb)))))
    assert [mapping.cells[0] for mapping in mappings] == ["1", "2", "3", "4"]
    assert [len(mapping.candidates) for mapping in mappings] == [1, 0, 2, 0]
    assert [mapping.is_tied for mapping in mappings] == [False, False, True, False]
    assert mappings[0].term == "Fever"


def test_a_term_that_cannot_be_linked_is_an_error(terms: Path, tiny_kb: Path, tmp_path: Path) -> None:
    class Failing(ExactLinker):
        def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
            def rank(queries: Sequence[Query]) -> list[Ranked]:
                raise LimitError("limit-record", "too long")

            return rank

    with pytest.raises(InputError, match="document-failed"):
        map_table(terms, "term", Pipeline(Failing(KnowledgeBase.open(tiny_kb))), tmp_path / "a.tsv")
    assert not (tmp_path / "a.tsv").exists()
