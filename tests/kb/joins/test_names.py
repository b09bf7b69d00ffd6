"""Tests of joining concepts that have the same name."""

from __future__ import annotations

import pytest

from onym.kb.joins import by_name, by_xref_and_name
from onym.kb.recipe import NameRule
from tests.kb.joins.conftest import Names, evidence

EITHER: dict[str, NameRule] = {"mondo": "either"}
FINER: Names = {"mesh:1": ["neoplasms", "cancer"], "mondo:1": ["cancer"]}
COARSER: Names = {"mesh:1": ["cancer"], "mondo:1": ["malignancy", "cancer"]}
BOTH: Names = {"mesh:1": ["cancer", "malignancy"], "mondo:1": ["malignancy", "cancer"]}


@pytest.mark.parametrize(
    ("names", "rule", "is_joined"),
    [
        (FINER, "either", True), (FINER, "first", False), (FINER, "both", False),
        (COARSER, "either", True), (COARSER, "first", True), (COARSER, "both", False),
        (BOTH, "either", True), (BOTH, "first", True), (BOTH, "both", True),
    ],
)  # fmt: skip
def test_rules_decide_whose_preferred_name_must_match(names: Names, rule: NameRule, is_joined: bool) -> None:
    assert by_name(evidence(names), {"mondo": rule}).rows() == ([("mondo:1", "mesh:1")] if is_joined else [])


def test_a_vocabulary_without_a_rule_is_not_joined() -> None:
    assert by_name(evidence(BOTH), {"chebi": "either"}).is_empty()
    assert by_name(evidence(BOTH), {}).is_empty()


def test_a_name_that_neither_concept_prefers_does_not_join() -> None:
    assert by_name(evidence({"mesh:1": ["a", "x"], "mondo:1": ["b", "x"]}), EITHER).is_empty()


def test_ambiguous_names_do_not_join() -> None:
    names = {"mesh:1": ["a", "x"], "mesh:2": ["b", "x"], "mondo:1": ["x"]}
    assert by_name(evidence(names), EITHER).is_empty()


def test_concepts_of_different_groups_are_not_joined() -> None:
    assert by_name(evidence(BOTH, groups={"mesh:1": "Chemical"}), EITHER).is_empty()


def test_a_cross_reference_to_another_concept_contradicts_a_pair() -> None:
    names = {**BOTH, "mesh:2": ["other"], "mondo:2": ["another"]}
    assert by_name(evidence(names, [("mondo:1", "mesh:2", True)]), EITHER).is_empty()
    assert by_name(evidence(names, [("mondo:2", "mesh:1", True)]), EITHER).is_empty()
    assert by_name(evidence(names, [("mondo:2", "mesh:2", True)]), EITHER).height == 1


def test_a_match_of_both_preferred_names_wins() -> None:
    names = {"mesh:1": ["x", "y"], "mondo:1": ["x"], "mondo:2": ["y"]}
    assert by_name(evidence(names), EITHER).rows() == [("mondo:1", "mesh:1")]


def test_equally_supported_pairs_are_not_joined() -> None:
    names = {"mesh:1": ["z", "x", "y"], "mondo:1": ["x"], "mondo:2": ["y"]}
    assert by_name(evidence(names), EITHER).is_empty()


def test_the_name_selects_one_of_several_cross_references() -> None:
    edges = [("mondo:1", "mesh:1", False), ("mondo:1", "mesh:2", False)]
    known = evidence({"mesh:1": ["a", "x"], "mesh:2": ["b"], "mondo:1": ["x"]}, edges)
    assert by_xref_and_name(known, EITHER).rows() == [("mondo:1", "mesh:1")]
    assert by_xref_and_name(known, {}).is_empty()


def test_a_concept_without_a_matching_name_is_not_joined() -> None:
    edges = [("mondo:1", "mesh:1", False), ("mondo:2", "mesh:1", False)]
    known = evidence({"mesh:1": ["a"], "mondo:1": ["type 1 a", "a"], "mondo:2": ["type 2 a", "a"]}, edges)
    assert by_xref_and_name(known, EITHER).is_empty()
