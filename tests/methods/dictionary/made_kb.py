"""Builds small knowledge bases for tests."""

from __future__ import annotations

from pathlib import Path

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe

ROWS = """x:1\tLeukemia, Lymphoid\tALL|Leukaemia\tdisease
x:2\tWiskott-Aldrich Syndrome\tWAS\tdisease
x:3\tMyocardial Infarction\tHeart attack|MI\tdisease
x:4\tInfarction\t\tdisease
x:5\tMen\t\tperson
x:6\tMultiple Endocrine Neoplasia\tMEN\tdisease
x:7\tPoly(ADP-ribose)\tPAR\tchemical
x:8\tMethod\tby\tother
x:9\tInterleukin-2\tIL-2|IL2\tprotein
x:10\tHeart\t\tanatomy
x:11\tβ-actin\tActin, beta\tprotein
x:12\tSerotonin\t5-HT\tchemical
x:13\t1,2\t\tother
"""


def make_kb(folder: Path, rows: str = ROWS, *, groups: bool = False) -> KnowledgeBase:
    """Build a knowledge base from rows of (id, name, synonyms, types)."""
    (folder / "made.tsv").write_text(f"id\tname\tsynonyms\ttypes\n{rows}")
    build_kb(Recipe.of({"sources": [{"path": "made.tsv"}], "groups": groups}), folder / "made-kb", root=folder)
    return KnowledgeBase.open(folder / "made-kb")
