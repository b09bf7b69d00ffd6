"""Tests of following retired ids to their successors."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from onym.errors import UnknownConceptError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.types import Successor, SuccessorKind

OBO = """format-version: 1.2

[Term]
id: X:1
name: fever
alt_id: X:8

[Term]
id: X:2
name: cough

[Term]
id: X:3
is_obsolete: true
replaced_by: X:1

[Term]
id: X:4
is_obsolete: true
consider: obo.X_0000001
consider: X:2

[Term]
id: X:5
is_obsolete: true
replaced_by: X:1
replaced_by: X:2

[Term]
id: X:6
is_obsolete: true

[Term]
id: X:7
is_obsolete: true
replaced_by: X:3

[Term]
id: X:9
is_obsolete: true
replaced_by: X:1
replaced_by: X:7
"""


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    (tmp_path / "x.obo").write_text(OBO)
    build_kb(Recipe.of({"sources": [{"path": "x.obo"}]}), tmp_path / "kb", root=tmp_path)
    return KnowledgeBase.open(tmp_path / "kb")


@pytest.mark.parametrize(
    ("concept_id", "rows", "how"),
    [
        ("x:1", (0,), "id"),
        ("X:8", (0,), "replaced"),
        ("x:3", (0,), "replaced"),
        ("x:7", (0,), "replaced"),  # its successor is retired, too
        ("x:9", (0,), "replaced"),  # its two successors became one concept
        ("x:4", (), "retired"),  # `consider` is only a suggestion
        ("x:5", (), "retired"),  # it has two successors
        ("x:6", (), "retired"),
        ("x:99", (), "unknown"),
    ],
)
def test_only_one_certain_successor_is_followed(kb: KnowledgeBase, concept_id: str, rows: tuple[int, ...], how: str) -> None:
    found = kb.resolve(concept_id)
    assert (found, found.how) == (rows, how)


def test_all_successors_are_kept(kb: KnowledgeBase) -> None:
    assert kb.successors("X:4") == (
        Successor("x:0000001", SuccessorKind.CONSIDER, "x"),
        Successor("x:2", SuccessorKind.CONSIDER, "x"),
    )
    assert [(each.target, each.kind) for each in kb.successors("x:5")] == [("x:1", 0), ("x:2", 0)]
    assert kb.successors("x:8") == (Successor("x:1", SuccessorKind.MERGED, "x"),)
    assert kb.successors("x:6") == kb.successors("x:1") == ()
    assert len(kb.retired) == 7
    assert kb.report()["decided"]["retired ids with several successors"] == 1


@pytest.mark.parametrize(
    ("concept_id", "fix"),
    [
        ("X:4", "use a successor: consider x:0000001 or x:2"),
        ("x:5", "use a successor: replaced by x:1 or x:2"),
        ("x:6", "find a concept by name with onym kb search"),
    ],
)
def test_the_error_for_a_retired_id_names_its_successors(kb: KnowledgeBase, concept_id: str, fix: str) -> None:
    with pytest.raises(UnknownConceptError, match=f"concept-retired.*{concept_id.lower()}") as caught:
        kb[concept_id]
    assert caught.value.fix == fix


def test_the_table_of_the_recipe_decides(tmp_path: Path) -> None:
    (tmp_path / "x.obo").write_text(OBO)
    (tmp_path / "moved.tsv").write_text("old\tnew\nx:5\tx:2\n")
    recipe = Recipe.of({"sources": [{"path": "x.obo"}], "replacements": "moved.tsv"})
    build_kb(recipe, tmp_path / "kb", root=tmp_path)
    kb = KnowledgeBase.open(tmp_path / "kb")
    assert kb["x:5"].id == "x:2"
    assert kb.successors("x:5") == (Successor("x:2", SuccessorKind.REPLACED_BY, "moved"),)


def test_a_resolution_survives_pickling(kb: KnowledgeBase) -> None:
    found = pickle.loads(pickle.dumps(kb.resolve("X:8")))
    assert (found, found.how, found.matched) == ((0,), "replaced", "x:8")
