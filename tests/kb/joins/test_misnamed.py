"""Tests of refusing a join of two concepts if the name of one of them is the name of a third concept."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.kb.joins import JoinRule, by_bearer, find_misnamed, join_all
from onym.kb.recipe import JoinConfig, NameRule, Recipe
from tests.kb.conftest import Builder
from tests.kb.joins.conftest import Names, evidence, frame

# Two kidney diseases, whose cross-references from MONDO to MeSH are swapped (see SWAPPED).
KIDNEYS: Names = {
    "mesh:1": ["kidney failure chronic", "chronic kidney failure"],
    "mesh:2": ["renal insufficiency chronic", "chronic kidney diseases"],
    "mondo:1": ["chronic kidney disease", "renal insufficiency chronic"],
    "mondo:2": ["chronic renal failure", "kidney failure chronic"],
}
SWAPPED = [("mondo:1", "mesh:1", True), ("mondo:2", "mesh:2", True)]
BY_NAME = JoinConfig(by_name={"mondo": "first"})
PAIR = frame([("mondo:1", "mesh:1")], "low", "high")


def join_finals(config: JoinConfig, names: Names, edges: list[tuple[str, str, bool]]) -> dict[str, tuple[str, int]]:
    joined = join_all(evidence(names, edges), config).frame()
    return {concept: (final, rule) for concept, final, rule in joined.iter_rows()}


def test_concepts_are_joined_with_those_that_bear_their_names() -> None:
    expected = {"mondo:1": ("mesh:2", JoinRule.NAME), "mondo:2": ("mesh:1", JoinRule.NAME)}
    assert join_finals(BY_NAME, KIDNEYS, SWAPPED) == expected


def test_refused_joins_are_reported_with_the_concept_that_bears_the_name() -> None:
    refused = join_all(evidence(KIDNEYS, SWAPPED), BY_NAME).misnamed.select("concept", "other", "name", "bearer")
    assert refused.rows() == [
        ("mondo:1", "mesh:1", "chronic kidney disease", "mesh:2"),
        ("mesh:2", "mondo:2", "renal insufficiency chronic", "mondo:1"),
    ]


@pytest.mark.parametrize("config", [JoinConfig(by_name={"mondo": "first"}, refuse_misnamed=False), JoinConfig()])
def test_the_rule_can_be_switched_off_and_needs_by_name(config: JoinConfig) -> None:
    expected = {"mondo:1": ("mesh:1", JoinRule.ONE_TO_ONE), "mondo:2": ("mesh:2", JoinRule.ONE_TO_ONE)}
    assert join_finals(config, KIDNEYS, SWAPPED) == expected


def test_a_join_stays_if_the_partner_has_the_name_too() -> None:
    names = {**KIDNEYS, "mesh:1": ["kidney failure chronic", "kidney disease chronic"]}
    assert join_finals(BY_NAME, names, SWAPPED)["mondo:1"] == ("mesh:1", JoinRule.ONE_TO_ONE)


def test_a_join_stays_if_the_other_concept_has_the_name_only_as_a_synonym() -> None:
    names = {"mesh:1": ["myositides"], "mesh:2": ["dermatomyositis", "muscle inflammation"], "mondo:1": ["muscle inflammation"]}
    assert find_misnamed(PAIR, evidence(names)).is_empty()
    assert find_misnamed(PAIR, evidence({**names, "mondo:1": ["muscle inflammation", "dermatomyositis"]})).height == 1


def test_homonyms_of_another_group_do_not_refuse() -> None:
    names = {"mesh:1": ["common cold"], "mesh:2": ["cold"], "mondo:1": ["cold"]}
    assert find_misnamed(PAIR, evidence(names)).height == 1
    assert find_misnamed(PAIR, evidence(names, groups={"mesh:2": "Phenomenon"})).is_empty()


@pytest.mark.parametrize(
    ("name", "is_refused"),
    [
        ("brain neoplasms", True),  # differs only in number
        ("neoplasm of the brain", True),  # differs only in word order
        ("2 brain neoplasm 3", False),
        ("cerebral neoplasm", False),
    ],
)
def test_names_are_equal_but_for_word_order_and_number(name: str, is_refused: bool) -> None:
    names = {"mesh:1": [name, "shared"], "mondo:1": ["brain cancer"], "mondo:2": ["brain neoplasm", "shared"]}
    assert find_misnamed(PAIR, evidence(names)).height == is_refused


def test_the_order_of_numbers_distinguishes_names() -> None:
    names = {"mesh:1": ["2 methyl 3 oxovalerate", "shared"], "mondo:1": ["x"], "mondo:2": ["3 methyl 2 oxovalerate", "shared"]}
    assert find_misnamed(PAIR, evidence(names)).is_empty()


def test_names_that_are_merely_alike_do_not_refuse() -> None:
    names = {"mesh:1": ["limonins"], "mondo:1": ["limonoid"], "mondo:2": ["limonin"]}
    assert find_misnamed(PAIR, evidence(names)).is_empty()


@pytest.mark.parametrize("rule", ["first", "either", "both"])
def test_joins_by_name_are_checked(rule: NameRule) -> None:
    names = {
        "mesh:1": ["dermatitis atopic", "atopic eczema"],
        "mesh:2": ["eczema"],
        "mondo:1": ["atopic dermatitis", "dermatitis atopic", "eczema"],
        "mondo:2": ["atopic eczema", "dermatitis atopic", "eczema"],
    }
    pairs = frame([("mondo:2", "mesh:2")], "low", "high")
    assert find_misnamed(pairs, evidence(names))["bearer"].to_list() == ["mesh:1"]
    assert join_finals(JoinConfig(by_name={"mondo": rule}), names, []).get("mondo:2", ("mesh:1",))[0] != "mesh:2"


def test_a_shared_id_contradicts_the_concept_that_bears_the_name() -> None:
    names = {"mesh:1": ["indican plant"], "mesh:2": ["indican", "uraemic indican"], "mondo:1": ["indican", "blue"]}
    known = evidence(names, shared=[("mesh:1", "cas:1"), ("mondo:1", "cas:1")], groups={"mesh:1": "Chemical"})
    config = JoinConfig(by_name={"chebi": "first"}, shared_ids=("cas",))
    assert join_all(known, config.model_copy(update={"refuse_misnamed": False})).frame()["final"].to_list() == ["mesh:1"]
    union = join_all(known, config)
    assert union.frame().is_empty()
    assert union.misnamed["bearer"].to_list() == ["mesh:2"]


def test_a_cross_reference_contradicts_the_concept_that_bears_the_name() -> None:
    edges = [("mondo:1", "mesh:1", True), ("mondo:3", "mesh:2", True)]
    finals = join_finals(BY_NAME, {**KIDNEYS, "mondo:3": ["nephropathy", "renal insufficiency chronic"]}, edges)
    assert finals["mondo:3"] == ("mesh:2", JoinRule.ONE_TO_ONE)
    assert "mondo:1" not in finals


def test_a_name_that_several_concepts_bear_does_not_join() -> None:
    known = evidence({**KIDNEYS, "mesh:3": ["chronic kidney disease"]})
    misnamed = find_misnamed(PAIR, known)
    assert misnamed["bearer"].to_list() == ["mesh:2", "mesh:3"]
    assert by_bearer(misnamed, known, BY_NAME.by_name).is_empty()


def test_concepts_in_undo_are_not_joined_with_the_bearer() -> None:
    assert "mondo:1" not in join_finals(BY_NAME.model_copy(update={"undo": ("mondo:1",)}), KIDNEYS, SWAPPED)


MESH = """id\tname\tsynonyms\tsemantic_types
mesh:D1\tkidney failure, chronic\t\tC12
mesh:D2\trenal insufficiency, chronic\tchronic kidney diseases\tC12
"""
MONDO = "id\tname\tsynonyms\txrefs\nmondo:1\tchronic kidney disease\trenal insufficiency, chronic\tmesh:D1\n"


def test_the_build_reports_refused_joins(build: Builder) -> None:
    kb = build(MESH, MONDO, joins={"by_name": {"mondo": "first"}})
    assert kb["mondo:1"].id == "mesh:D2"
    assert kb.manifest.counts["refused_joins"] == 1
    assert kb.report()["decided"]["joins refused: the name is that of another concept"] == 1
    row = {"concept": "mondo:1", "other": "mesh:D1", "name": "chronic kidney disease", "bearer": "mesh:D2"}
    assert kb.report()["refused"] == [row]


def test_a_build_without_the_rule_is_recorded(build: Builder) -> None:
    kb = build(MESH, MONDO, joins={"by_name": {"mondo": "first"}, "refuse_misnamed": False})
    assert kb["mondo:1"].id == "mesh:D1"
    assert "refused" not in kb.report()
    assert "refused_joins" not in kb.manifest.counts
    assert kb.manifest.config["joins"]["refuse_misnamed"] is False


def test_the_default_is_not_recorded() -> None:
    record = Recipe.of({"sources": [{"path": "a.obo"}], "joins": {"shared_ids": ["cas"]}}).record()
    assert record["joins"] == {"many_to_one": "copy", "by_name": {}, "shared_ids": ["cas"], "undo": []}


WORDS = st.sampled_from(["a", "b", "c", "a b", "b a", "as"])
CONCEPTS = [f"{prefix}:{number}" for prefix in ("mesh", "mondo", "chebi") for number in range(3)]
NAMES = st.fixed_dictionaries({concept: st.lists(WORDS, min_size=1, max_size=3, unique=True) for concept in CONCEPTS})
PAIRS = st.lists(st.tuples(st.sampled_from(CONCEPTS[3:6]), st.sampled_from(CONCEPTS[:3])), unique=True, max_size=4)


@given(NAMES, PAIRS, st.sampled_from(["first", "either", "both"]))
def test_no_join_between_two_vocabularies_is_misnamed(names: Names, pairs: list[tuple[str, str]], rule: NameRule) -> None:
    known = evidence(names, [(low, high, True) for low, high in pairs])
    joined = join_all(known, JoinConfig(by_name={"mondo": rule, "chebi": rule})).frame()
    direct = joined.filter(~pl.col("final").is_in(joined["concept"].implode())).select(low="concept", high="final")
    direct = direct.filter(pl.len().over("high") == 1)  # in larger sets, two concepts may be joined through a third
    assert find_misnamed(direct, known).is_empty()
