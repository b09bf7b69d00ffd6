"""Tests of the decisions of a build: joins, groups, and `only_joined` sources."""

from __future__ import annotations

from pathlib import Path

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.export import join_frame
from onym.kb.recipe import Recipe
from tests.kb.conftest import Builder

MESH = "id\tname\tsynonyms\txrefs\tsemantic_types\nmesh:C1\tketamine\tketalar\tcas:1\tD03\nmesh:D2\tfever\t\t\tC23\n"
CHEBI = "id\tname\tsynonyms\txrefs\nchebi:1\tketamine\tketaject\tcas:1\nchebi:2\tboron\tB\t\n"


def test_joins_need_names_and_groups(build: Builder) -> None:
    kb = build(MESH, CHEBI, joins={"by_name": {"chebi": "either"}})
    assert join_frame(kb).rows() == [("chebi:1", "mesh:C1", "name")]
    assert {term.text for term in kb["mesh:C1"].terms} == {"ketamine", "ketalar", "ketaject"}
    assert "chebi:2" in kb


def test_an_only_joined_source_adds_no_concepts(tmp_path: Path) -> None:
    for name, table in (("mesh.tsv", MESH), ("chebi.tsv", CHEBI)):
        (tmp_path / name).write_text(table)
    sources = [{"path": "mesh.tsv"}, {"path": "chebi.tsv", "only_joined": True}]
    build_kb(Recipe.of({"sources": sources, "joins": {"shared_ids": ["cas"]}}), tmp_path / "kb", root=tmp_path)
    kb = KnowledgeBase.open(tmp_path / "kb")
    assert [concept.id for concept in kb] == ["mesh:C1", "mesh:D2"]
    assert join_frame(kb).rows() == [("chebi:1", "mesh:C1", "shared-id")]
    assert kb.report()["dropped"]["concepts of a lending source that joined nothing"] == 1
    assert kb.term_lent is not None
    lent = {kb.names[int(name)] for name in kb.term_names[kb.term_lent == 1]}
    assert lent == {"ketaject"}


def test_a_join_can_be_undone(build: Builder) -> None:
    kb = build(MESH, CHEBI, joins={"by_name": {"chebi": "either"}, "undo": ["chebi:1"]})
    assert join_frame(kb).is_empty()
    assert kb.report()["decided"]["joins undone by the recipe"] == 1
    assert kb["chebi:1"].id == "chebi:1"


def test_groups_are_stored_only_if_the_recipe_asks(build: Builder) -> None:
    kb = build(MESH, CHEBI, groups=True)
    assert kb["mesh:C1"].groups == ("Chemical",)
    assert kb["chebi:2"].groups == ("Chemical",)
    assert build(MESH, CHEBI, dest="plain")["mesh:C1"].groups == ()
