"""Tests of converting terms to documents, and their links to mappings."""

from __future__ import annotations

from pathlib import Path

from onym.outputs.mapping import read_terms
from onym.outputs.terms import TermMapping, term_document
from onym.types import Candidate, Document, Link, LinkedDocument, Mention


def test_a_row_is_a_document_and_an_empty_cell_has_no_mention(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("n\tterm\n1\t Fever \n2\t\n")
    table = read_terms(path, "term")
    first, second = (term_document(cells[table.column], cells[0]) for cells in table.rows)
    assert first == Document("1", "Fever", (Mention(0, 5, "Fever"),))
    assert second == Document("2", "")


def test_a_mapping_has_the_candidates_of_its_term() -> None:
    term = Mention(0, 2, "MI")
    tied = (Candidate("mesh:D006973", "mi", 1.0), Candidate("mesh:D009203", "mi", 1.0))
    linked = LinkedDocument(Document("1", "MI", (term,)), (Link(term, tied),))
    assert TermMapping.of(("1", "MI"), linked) == TermMapping(("1", "MI"), "MI", tied, 1)
    assert TermMapping.of(("1", "MI"), linked).is_tied
    empty = TermMapping.of(("2", ""), LinkedDocument(Document("2", "")))
    assert (empty.term, empty.candidates, empty.is_tied) == ("", (), False)


def test_an_exact_mapping_is_a_name_of_one_concept_that_is_the_answer() -> None:
    best, other = Candidate("mesh:D005334", "fever", 1.0), Candidate("mesh:D1", "fever", 1.0)
    assert TermMapping((), "Fever", (best,)).is_exact
    assert not TermMapping((), "Fevers", (best,)).is_exact
    assert not TermMapping((), "Fever", (best, other), tied=1).is_exact
    assert not TermMapping((), "Fever", (best,), nil_reason="below-precision").is_exact
    assert not TermMapping((), "Fever", ()).is_exact
