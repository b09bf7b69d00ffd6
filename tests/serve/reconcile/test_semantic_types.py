"""Groups and types by their names."""

from __future__ import annotations

from pathlib import Path

from onym.kb import KnowledgeBase
from onym.serve.reconcile.semantic_types import SemanticTypes, as_type
from onym.types import Candidate


def test_groups_come_first_and_any_case_is_known(kb: KnowledgeBase) -> None:
    types = SemanticTypes(kb)
    assert types.default() == ["Disease", "Phenotype"]
    assert types.known(["disease", "c14", "Planet"]) == ["Disease", "C14"]
    assert types.beginning("") == ["C14", "C23", "Disease", "Phenotype"]
    assert types.beginning("E") == ["Disease", "Phenotype"]
    assert types.beginning("planet") == []
    assert as_type("C14") == {"id": "C14", "name": "C14"}


def test_what_a_candidate_shows_can_be_wanted(kb: KnowledgeBase, tiny_kb: Path) -> None:
    with_groups, without = SemanticTypes(kb), SemanticTypes(KnowledgeBase.open(tiny_kb))
    fever = Candidate("mesh:D005334", "fever", 1.0, "Fever", "Disease")
    assert (with_groups.of(fever), without.of(fever)) == (["Disease"], ["C23"])
    assert without.known(without.of(fever)) == ["C23"]
