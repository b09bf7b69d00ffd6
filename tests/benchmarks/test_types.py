"""Tests of the benchmark of semantic groups: concepts without a group are counted, and shares have two decimals."""

from __future__ import annotations

from pathlib import Path

from benchmarks.accuracy.types import concepts_without_group, percent

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe


def test_counts_concepts_without_a_group(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("id\tname\ttypes\nmesh:1\tFever\tC23\nmesh:2\tMale\t\n")
    build_kb(Recipe.of({"sources": [{"path": "a.tsv"}], "groups": True}), tmp_path / "kb", root=tmp_path)
    assert concepts_without_group(KnowledgeBase.open(tmp_path / "kb")) == 1


def test_shares_have_two_decimals() -> None:
    assert percent(1, 300) == 0.33
    assert percent(0, 0) == 0.0
