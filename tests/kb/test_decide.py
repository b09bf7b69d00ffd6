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


def test_diseases_and_phenotypes_of_one_name_may_be_joined(build: Builder) -> None:
    mesh = "id\tname\tsemantic_types\nmesh:D1\tscoliosis\tC05\n"
    hpo, joins = "id\tname\nhp:1\tscoliosis\n", {"by_name": {"hp": "either"}}
    assert join_frame(build(mesh, hpo, dest="apart", joins=joins)).is_empty()
    kb = build(mesh, hpo, groups=True, joins={**joins, "same_groups": ["Disease", "Phenotype"]})
    assert join_frame(kb).rows() == [("hp:1", "mesh:D1", "name")]
    assert kb["mesh:D1"].groups == ("Disease", "Phenotype")


def test_cross_references_may_have_to_share_a_name(build: Builder) -> None:
    mesh = "id\tname\tsynonyms\txrefs\nmesh:D1\tspinal curvatures\t\thp:1\nmesh:D2\tbladder fistulas\t\thp:2\n"
    hpo = "id\tname\nhp:1\tscoliosis\nhp:2\tfistula bladder\n"
    assert join_frame(build(mesh, hpo)).height == 2
    kb = build(mesh, hpo, dest="strict", joins={"same_name": ["hp"]})
    assert join_frame(kb).rows() == [("hp:2", "mesh:D2", "one-to-one")]


def test_only_groups_keeps_groups_and_their_concepts(build: Builder) -> None:
    mesh = "id\tname\tsemantic_types\nmesh:D1\tobesity\tC18|E01\nmesh:D2\tsurgery\tE04\nmesh:D3\tnothing\t\n"
    kb = build(mesh, only_groups=["Disease"])
    assert [(concept.id, concept.groups) for concept in kb] == [("mesh:D1", ("Disease",))]
    assert kb.report()["dropped"]["semantic group"] == 2


def test_preferred_names_can_become_synonyms(tmp_path: Path) -> None:
    (tmp_path / "new.tsv").write_text("id\tname\nmesh:D1\tTumors\n")
    (tmp_path / "old.tsv").write_text("id\tname\nmesh:D1\tTumours\nmesh:D2\tretired\n")
    sources = [{"path": "old.tsv", "as_synonyms": True, "only_joined": True}, {"path": "new.tsv"}]
    build_kb(Recipe.of({"sources": sources}), tmp_path / "kb", root=tmp_path)
    kb = KnowledgeBase.open(tmp_path / "kb")
    assert [(term.text, term.kind.label) for term in kb["mesh:D1"].terms] == [("tumors", "preferred"), ("tumours", "exact")]
    assert "mesh:D2" not in kb
