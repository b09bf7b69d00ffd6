"""Tests of the scoring of rows in the suite `reconcile`."""

from __future__ import annotations

from pathlib import Path

from onym.kb import KnowledgeBase
from tests.robustness.serve.reconcile import ReconciledRow, judge_candidates, junk


def test_junk_is_fifty_values_and_the_same_each_time() -> None:
    assert len(set(junk())) == 50
    assert junk() == junk()


def test_a_concept_is_right_by_its_ids_and_cross_references(tiny_kb: Path) -> None:
    gold = {
        "heart attack": frozenset({"omim:608446"}),  # the gold id is a cross-reference of the concept
        "fever": frozenset({"mesh:D005334"}),
        "pyrexia": frozenset({"mesh:D006973"}),  # the gold id belongs to another concept
        "pain": frozenset({"mesh:D010146"}),  # the gold id is not in the knowledge base
        "fever and pain": frozenset[str](),  # a composite mention has no single gold id
    }
    rows = [
        ReconciledRow("heart attack", "MESH:D009203", "MESH:D009203"),
        ReconciledRow("fever", "MESH:D005334", None),
        ReconciledRow("pyrexia", "MESH:D005334", "MESH:D005334"),
        ReconciledRow("pain", None, None),
        ReconciledRow("fever and pain", "MESH:D005334", None),
        ReconciledRow("Paris", "MESH:D005334", "MESH:D005334"),
        ReconciledRow("Tokyo", "MESH:D005334", None),
    ]
    figures = judge_candidates(rows, gold, KnowledgeBase.open(tiny_kb))
    assert (figures["rows"], figures["gold_in_kb"], figures["top1"]) == (5, 0.6, 0.4)
    assert (figures["matches"], figures["match_precision"], figures["matched_pct"]) == (2, 0.5, 40.0)
    assert (figures["junk"], figures["junk_matched"]) == (2, 1)
