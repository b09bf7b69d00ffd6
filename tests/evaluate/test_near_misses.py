"""Near misses: how wrong answers are related to the gold concepts."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from onym.evaluate.cases import Case, ranking_of
from onym.evaluate.metrics import gold_ranks
from onym.evaluate.mistakes import common_mistakes, find_mistakes
from onym.evaluate.near_misses import RELATIONS, NearMisses, Nearness, Neighbourhood, find_near_misses
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.types import Document, Mention

Build = Callable[..., KnowledgeBase]
TREE = "x:1\nx:2 x:1\nx:3 x:1\nx:4 x:2\nx:5 x:4\nx:6 x:3\nx:7"


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Return a function that builds a knowledge base from tables of id and parents, given by file name."""

    def make(**sources: str) -> KnowledgeBase:
        for name, rows in sources.items():
            lines = [line.split() for line in rows.splitlines()]
            text = "".join(f"{row[0]}\tname of {row[0]}\t{'|'.join(row[1:])}\n" for row in lines)
            (tmp_path / f"{name}.tsv").write_text("id\tname\tparents\n" + text)
        return build_files(tmp_path, *sources)

    return make


def build_files(folder: Path, *names: str) -> KnowledgeBase:
    build_kb(Recipe.of({"sources": [{"path": f"{name}.tsv"} for name in names]}), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")


def case(gold: str, *answers: str) -> Case:
    """Return a case; `+` joins ids, and the answers are best first."""
    ranking = ranking_of([(ids.split("+"), -float(rank)) for rank, ids in enumerate(answers)])
    return Case("1", frozenset(gold.split("+")), (ranking,), mentions=(Mention(0, 3, "hot"),))


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("x:2", "x:4", "parent"),
        ("x:4", "x:2", "child"),
        ("x:2", "x:3", "sibling"),
        ("x:1", "x:4", "farther, 2 steps"),
        ("x:5", "x:2", "farther, 2 steps"),
        ("x:5", "x:6", "farther, 5 steps"),
        ("x:7", "x:6", "apart"),
        ("x:1", "x:404", "not in the KB"),
        ("x:404", "x:1", "not in the KB"),
    ],
)
def test_relation_of_one_answer_to_one_gold_concept(build: Build, answer: str, gold: str, expected: str) -> None:
    assert Neighbourhood(build(x=TREE)).relate([answer], [gold]).label == expected


def test_nearest_of_several_concepts_counts(build: Build) -> None:
    near = Neighbourhood(build(x=TREE))
    assert near.relate(["x:4"], ["x:7", "x:6", "x:2"]) == Nearness("child")
    assert near.relate(["x:7", "x:5"], ["x:6", "x:404"]) == Nearness("farther", 5)
    assert near.relate(["x:4"], ["x:4", "x:2"]) == Nearness("partly right")
    assert near.relate([], ["x:2"]) == Nearness("no answer")


def test_mapped_headings_are_a_relation_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "mesh.tsv").write_text("D000001\tdrugs\t\tD01\nD000002\tacids\t\tD01.1\nD000003\tsalts\t\tD01.2\n")
    (tmp_path / "supp.tsv").write_text("C000001\tmade acid\t\tD000002\nC000002\tother acid\t\tD000002\n")
    near = Neighbourhood(build_files(tmp_path, "mesh", "supp"))
    relations = {
        (one, other): near.relate([f"mesh:{one}"], [f"mesh:{other}"]).label
        for one, other in [
            ("D000002", "C000001"),
            ("C000001", "D000002"),
            ("D000001", "C000001"),
            ("C000001", "C000002"),
            ("D000003", "D000002"),
        ]
    }
    assert list(relations.values()) == ["mapped", "mapped", "apart", "apart", "sibling"]


def test_relations_that_close_a_cycle_are_left_out(build: Build) -> None:
    kb = build(x="x:1 x:3\nx:2 x:1\nx:3 x:2\nx:4 x:3")
    assert kb.report()["loops"]["count"] == 1
    near = Neighbourhood(kb)
    found = {near.relate([f"x:{one}"], [f"x:{other}"]).label for one in (1, 2, 3) for other in (1, 2, 3) if one != other}
    assert found == {"parent", "child", "farther, 2 steps"}


def test_siblings_share_a_parent_within_one_source(build: Build) -> None:
    apart = Neighbourhood(build(x="x:1\nx:2 x:1\nx:3", y="x:1\nx:3 x:1\nx:2"))
    assert apart.relate(["x:2"], ["x:3"]).label == "apart", "each source states one of the two relations"


def test_nearest_source_counts_where_sources_are_joined(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("id\tname\tparents\txrefs\nx:1\ttop\t\t\nx:2\tone\tx:1\ty:2\nx:3\ttwo\tx:1\ty:3\n")
    (tmp_path / "y.tsv").write_text("id\tname\tparents\ny:2\tone\ty:3\ny:3\ttwo\t\n")
    near = Neighbourhood(build_files(tmp_path, "x", "y"))
    assert near.relate(["x:3"], ["x:2"]).label == "parent"
    assert near.relate(["y:2"], ["x:3"]).label == "child", "ids of joined concepts are the concept"


def test_steps_are_the_distance_in_the_hierarchy(build: Build) -> None:
    draw = np.random.default_rng(7)
    sources = {
        name: "\n".join(f"x:{row:02} " + " ".join(f"x:{parent:02}" for parent in draw.integers(0, 24, 2)) for row in range(24))
        for name in ("x", "y")
    }
    kb = build(**sources)
    near, steps = Neighbourhood(kb), {"partly right": 0, "parent": 1, "child": 1, "sibling": 2, "apart": None}
    for one in kb.concept_ids:
        for other in kb.concept_ids:
            found = near.relate([one], [other])
            assert (found.steps or steps[found.relation]) == kb.distance(one, other)


def test_all_errors_are_counted_once(build: Build) -> None:
    kb = build(x=TREE)
    cases = [
        *(case("x:4", "x:2", "x:4"), case("x:4", "x:2"), case("x:4"), case("x:4", "x:4"), case("x:5", "x:3")),
        *(case("x:6", "x:2"), case("x:2+x:3", "x:2"), case("x:404", "x:2")),
    ]
    found = find_near_misses(cases, gold_ranks(cases, "strict"), kb)
    assert found
    assert {relation: count for relation, count in found.counts.items() if count} == {
        "partly right": 1,
        "parent": 2,
        "farther": 2,
        "not in the KB": 1,
        "no answer": 1,
    }
    assert found.as_dict()["farther_steps"] == {"3": 1, "4": 1}
    assert found.total == 7
    assert [(title, count) for title, _, count, _ in found.rows][2] == ("farther (median 3 steps)", 2)


def test_common_mistakes_have_a_relation(build: Build) -> None:
    (mistake,) = common_mistakes([case("x:4", "x:2")], [None], build(x=TREE))
    assert mistake.nearness == Nearness("parent")


def test_wrong_concepts_of_an_end_to_end_system_are_related(build: Build) -> None:
    gold = Document("1", "hot dog", (Mention(0, 3, "hot", ("x:4",)), Mention(4, 7, "dog", ("x:6",))))
    predicted = Document("1", "hot dog", (Mention(0, 3, "hot", ("x:2",)),))
    mistakes = find_mistakes([gold], [predicted], build(x=TREE))
    assert mistakes.near_misses == NearMisses.of([Nearness("parent")]), "a missed mention has no relation"
    assert {each.kind: each.nearness for each in mistakes.commonest} == {"missed": None, "wrong concept": Nearness("parent")}


def test_nothing_is_reported_without_a_hierarchy(build: Build) -> None:
    kb = build(x="x:1\nx:2")
    assert find_near_misses([case("x:1", "x:2")], [None], kb) is None
    assert common_mistakes([case("x:1", "x:2")], [None], kb)[0].nearness is None
    gold, predicted = (Document("1", "hot", (Mention(0, 3, "hot", (each,)),)) for each in ("x:1", "x:2"))
    assert find_mistakes([gold], [predicted], kb).near_misses is None


def test_the_page_on_evaluation_has_all_definitions() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "evaluation.md").read_text("utf-8")
    assert "".join(f"| `{relation}` | {definition} |\n" for relation, definition in RELATIONS.items()) in page


def test_thousands_of_errors_take_a_second(build: Build) -> None:
    lines = [f"x:{row} x:{(row - 1) // 4} x:{(row - 1) // 5}" if row else "x:0" for row in range(4000)]
    kb = build(x="\n".join(lines), y="\n".join(lines))
    cases = [case(f"x:{row}", f"x:{3999 - row}") for row in range(4000)]
    start = time.process_time()
    find_near_misses(cases, [None] * len(cases), kb)
    assert time.process_time() - start < 2
