"""Joins by name."""

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
def test_whose_preferred_name_must_say_so(names: Names, rule: NameRule, is_joined: bool) -> None:
    assert by_name(evidence(names), {"mondo": rule}).rows() == ([("mondo:1", "mesh:1")] if is_joined else [])


def test_a_vocabulary_without_a_rule_is_not_joined() -> None:
    assert by_name(evidence(BOTH), {"chebi": "either"}).is_empty()
    assert by_name(evidence(BOTH), {}).is_empty()


def test_a_name_that_is_preferred_nowhere_joins_nothing() -> None:
    assert by_name(evidence({"mesh:1": ["a", "x"], "mondo:1": ["b", "x"]}), EITHER).is_empty()


def test_a_name_of_two_concepts_of_the_other_vocabulary_says_nothing() -> None:
    names = {"mesh:1": ["a", "x"], "mesh:2": ["b", "x"], "mondo:1": ["x"]}
    assert by_name(evidence(names), EITHER).is_empty()


def test_concepts_of_other_groups_are_not_joined() -> None:
    assert by_name(evidence(BOTH, groups={"mesh:1": "Chemical"}), EITHER).is_empty()


def test_a_cross_reference_elsewhere_contradicts() -> None:
    names = {**BOTH, "mesh:2": ["other"], "mondo:2": ["another"]}
    assert by_name(evidence(names, [("mondo:1", "mesh:2", True)]), EITHER).is_empty()
    assert by_name(evidence(names, [("mondo:2", "mesh:1", True)]), EITHER).is_empty()
    assert by_name(evidence(names, [("mondo:2", "mesh:2", True)]), EITHER).height == 1


def test_two_preferred_names_outweigh_one() -> None:
    names = {"mesh:1": ["x", "y"], "mondo:1": ["x"], "mondo:2": ["y"]}
    assert by_name(evidence(names), EITHER).rows() == [("mondo:1", "mesh:1")]


def test_pairs_that_say_as_much_are_both_left_alone() -> None:
    names = {"mesh:1": ["z", "x", "y"], "mondo:1": ["x"], "mondo:2": ["y"]}
    assert by_name(evidence(names), EITHER).is_empty()


def test_of_several_cross_references_the_name_chooses() -> None:
    edges = [("mondo:1", "mesh:1", False), ("mondo:1", "mesh:2", False)]
    known = evidence({"mesh:1": ["a", "x"], "mesh:2": ["b"], "mondo:1": ["x"]}, edges)
    assert by_xref_and_name(known, EITHER).rows() == [("mondo:1", "mesh:1")]
    assert by_xref_and_name(known, {}).is_empty()


def test_without_its_name_the_finer_concept_stays_apart() -> None:
    edges = [("mondo:1", "mesh:1", False), ("mondo:2", "mesh:1", False)]
    known = evidence({"mesh:1": ["a"], "mondo:1": ["type 1 a", "a"], "mondo:2": ["type 2 a", "a"]}, edges)
    assert by_xref_and_name(known, EITHER).is_empty()
