"""Tests of parents and children of concepts, and of walks over the hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError, IntegrityError
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.hierarchy import JOINED_LOOP, LOOP
from onym.kb.recipe import Recipe
from onym.kb.relations import flag_loops
from onym.types import ParentKind

Build = Callable[..., KnowledgeBase]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Return a function that builds a knowledge base from tables of id and parents, given by file name."""

    def make(**sources: str) -> KnowledgeBase:
        for name, rows in sources.items():
            lines = [line.split() for line in rows.splitlines()]
            text = "".join(f"{row[0]}\tname of {row[0]}\t{'|'.join(row[1:])}\n" for row in lines)
            (tmp_path / f"{name}.tsv").write_text("id\tname\tparents\n" + text)
        recipe = Recipe.of({"sources": [{"path": f"{name}.tsv"} for name in sources]})
        build_kb(recipe, tmp_path / "kb", root=tmp_path)
        return KnowledgeBase.open(tmp_path / "kb")

    return make


DIAMOND = "x:1\nx:2 x:1\nx:3 x:1\nx:4 x:2 x:3\nx:5 x:4"


def test_parents_children_and_walks(build: Build) -> None:
    kb = build(x=DIAMOND)
    assert [(each.id, each.name, each.kind, each.source) for each in kb["x:4"].parents] == [
        ("x:2", "name of x:2", ParentKind.IS_A, "x"),
        ("x:3", "name of x:3", ParentKind.IS_A, "x"),
    ]
    assert [each.id for each in kb["x:1"].children] == ["x:2", "x:3"]
    assert kb["x:5"].ancestors == ("x:4", "x:2", "x:3", "x:1")
    assert kb["x:1"].descendants == ("x:2", "x:3", "x:4", "x:5")
    assert (kb["x:1"].parents, kb["x:5"].children) == ((), ())


def test_paths_lead_from_the_top_to_a_concept(build: Build) -> None:
    kb = build(x=DIAMOND)
    rows = [kb.concept_ids.find(f"x:{number}") for number in range(6)]

    def paths(number: int, limit: int = 9) -> list[tuple[int, ...]]:
        return [tuple(rows.index(row) for row in path) for path in kb.hierarchy.paths(rows[number], limit)]

    assert paths(1) == [(1,)]
    assert paths(5) == [(1, 2, 4, 5), (1, 3, 4, 5)]
    assert paths(5, limit=1) == [(1, 2, 4, 5)]


def test_limited_paths_reach_every_parent(build: Build) -> None:
    kb = build(x="x:1\nx:2\nx:3 x:1 x:2\nx:4\nx:5 x:3 x:4")
    found = kb.hierarchy.paths(kb.concept_ids.find("x:5"), 2)
    assert [[kb.concept_ids[row] for row in path] for path in found] == [["x:1", "x:3", "x:5"], ["x:4", "x:5"]]


def test_many_paths_are_not_all_walked(build: Build) -> None:
    levels = [f"x:{level}{side} x:{level - 1}a x:{level - 1}b" for level in range(1, 60) for side in "ab"]
    kb = build(x="\n".join(["x:0a", "x:0b", *levels]))
    assert len(kb.hierarchy.paths(kb.concept_ids.find("x:59a"), 13)) == 13


def test_distance_goes_through_the_nearest_common_ancestor(build: Build) -> None:
    kb = build(x=DIAMOND + "\nx:6 x:3\nx:7")
    found = {
        pair: kb.distance(*pair) for pair in [("x:5", "x:5"), ("x:5", "x:4"), ("x:2", "x:3"), ("x:5", "x:6"), ("x:1", "x:7")]
    }
    assert list(found.values()) == [0, 1, 2, 3, None]
    assert kb.distance("x:5", "x:4", source="another") is None


def test_a_cycle_is_reported_and_left_out_of_walks(build: Build) -> None:
    kb = build(x="x:1 x:3\nx:2 x:1\nx:3 x:2\nx:4 x:3")
    loops = kb.report()["loops"]
    assert loops["count"] == 1
    above = {concept.id: set(concept.ancestors) for concept in kb}
    assert not any(concept in found for concept, found in above.items())
    assert not any(low in above[high] for low, found in above.items() for high in found)
    assert [each.id for each in kb["x:1"].parents] == ["x:3"], "what the source states is kept"


def test_sources_that_contradict_each_other_keep_their_own_order(build: Build) -> None:
    kb = build(x="x:1 x:2\nx:2", y="x:2 x:1\nx:1")
    one, two = (kb.concept_ids.find(each) for each in ("x:1", "x:2"))
    assert kb.hierarchy.above(one, source="x").tolist() == [two]
    assert kb.hierarchy.above(two, source="y").tolist() == [one]
    assert len(kb.hierarchy.above(one)) + len(kb.hierarchy.above(two)) == 1
    assert kb.hierarchy.sources == ("x", "y")


def test_mapped_headings_are_followed_only_if_asked(tmp_path: Path) -> None:
    (tmp_path / "mesh.tsv").write_text("D000001\tdrugs\t\tD01\nD000002\tacids\t\tD01.1\n")
    (tmp_path / "supp.tsv").write_text("C000001\tmade acid\t\tD000002\n")
    recipe = Recipe.of({"sources": [{"path": "mesh.tsv"}, {"path": "supp.tsv"}]})
    build_kb(recipe, tmp_path / "kb", root=tmp_path)
    kb = KnowledgeBase.open(tmp_path / "kb")
    top = kb.concept_ids.find("mesh:D000001")
    assert kb["mesh:D000001"].descendants == ("mesh:D000002",)
    assert [kb.concept_ids[row] for row in kb.hierarchy.below(top, mapped=True)] == ["mesh:D000002", "mesh:C000001"]
    assert [each.kind for each in kb["mesh:C000001"].parents] == [ParentKind.MAPPED_TO]
    assert (kb.hierarchy.sources, kb.hierarchy.parent_sources) == (("mesh", "supp"), ("mesh",))


def test_parents_follow_joined_and_retired_ids(build: Build, tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text(
        "id\tname\tparents\tkind\treplaced_by\tsynonyms\tdefinition\ttypes\txrefs\n"
        "x:1\ttop\t\tpreferred\t\t\t\t\t\nx:2\tlow\tx:9|x:404\tpreferred\t\t\t\t\ty:1\nx:9\told\t\tretired\tx:1\t\t\t\t\n"
    )
    (tmp_path / "y.tsv").write_text("id\tname\tparents\ny:1\tlow too\ty:2\ny:2\thigh\t\n")
    recipe = Recipe.of({"sources": [{"path": "x.tsv"}, {"path": "y.tsv"}]})
    build_kb(recipe, tmp_path / "kb", root=tmp_path)
    kb = KnowledgeBase.open(tmp_path / "kb")
    assert [(each.id, each.source) for each in kb["x:2"].parents] == [("x:1", "x"), ("y:2", "y")]
    assert kb.report()["dropped"]["parents of or by an id without a name"] == 1


def test_a_knowledge_base_without_parents_has_no_columns_for_them(build: Build) -> None:
    kb = build(x="x:1\nx:2")
    assert kb.hierarchy.is_empty
    assert not any("parent" in name for name in kb.manifest.files)
    with pytest.raises(ConfigError, match=r"hierarchy-missing(.|\n)*build the knowledge base again"):
        kb.hierarchy.require_stored()
    assert kb["x:1"].descendants == ()


def test_damaged_columns_are_rejected(build: Build) -> None:
    kb = build(x=DIAMOND)
    relations = kb.hierarchy._up
    for kinds, sources in ((np.full_like(relations.kinds, 7), relations.sources), (relations.kinds, relations.sources + 9)):
        damaged = type(relations)(relations.lists, kinds, sources)
        with pytest.raises(IntegrityError):
            damaged.require_sound("concept.parents", len(kb), len(kb.sources))


def _has_cycle(edges: Iterable[tuple[int, int]]) -> bool:
    left = set(edges)
    while leaves := {low for low, _ in left} - {high for _, high in left}:
        left = {edge for edge in left if edge[0] not in leaves}
    return bool(left)


_EDGES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(-1, 2)), min_size=1, max_size=30)


@given(_EDGES)
def test_flags_leave_no_cycle(rows: list[tuple[int, int, int]]) -> None:
    edges = sorted({edge for edge in rows if edge[0] != edge[1]}) or [(0, 1, 0)]
    child, parent, source = np.array(edges).T
    flags = flag_loops(child, parent, source)
    used = [(edge, flag) for edge, flag in zip(edges, flags.tolist(), strict=True) if edge[2] >= 0]
    assert not _has_cycle((low, high) for (low, high, _), flag in used if not flag)
    for each in range(3):
        own = [((low, high), flag) for (low, high, source), flag in used if source == each]
        assert not _has_cycle(edge for edge, flag in own if flag != LOOP)
        assert _has_cycle(edge for edge, _ in own) == any(flag == LOOP for _, flag in own)
    assert _has_cycle((low, high) for (low, high, _), _ in used) == any(flag in (LOOP, JOINED_LOOP) for _, flag in used)
