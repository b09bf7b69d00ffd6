"""Tests of joining pairs of concepts into groups."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onym.kb.joins import JoinRule, Union
from tests.kb.joins.conftest import frame

IDS = st.sampled_from([f"{prefix}:{number}" for prefix in "abc" for number in range(4)])


def test_the_first_rule_that_joins_is_kept() -> None:
    union = Union()
    for rule in (JoinRule.ONE_TO_ONE, JoinRule.NAME):
        union.join(frame([("mondo:1", "mesh:1")], "low", "high"), rule)
    assert union.frame().rows() == [("mondo:1", "mesh:1", int(JoinRule.ONE_TO_ONE))]
    assert union.counts == {JoinRule.ONE_TO_ONE: 1}
    assert union.refused == 0


def test_skipped_joins_of_undo_are_counted() -> None:
    union = Union(["mondo:1"])
    union.join(frame([("mondo:1", "mesh:1"), ("mondo:2", "mesh:2")], "low", "high"), JoinRule.NAME)
    assert union.frame()["concept"].to_list() == ["mondo:2"]
    assert union.undone == 1


def test_a_set_keeps_the_id_of_the_first_vocabulary_whatever_the_order_of_joins() -> None:
    union = Union(prefixes=["mesh", "mondo", "hp"])
    union.join(frame([("hp:1", "mesh:1"), ("hp:1", "mondo:1")], "low", "high"), JoinRule.NAME)
    assert {concept: root for concept, root, _ in union.frame().iter_rows()} == {"hp:1": "mesh:1", "mondo:1": "mesh:1"}


@given(st.lists(st.tuples(IDS, IDS)))
def test_two_ids_of_one_vocabulary_are_never_joined(pairs: list[tuple[str, str]]) -> None:
    union = Union()
    union.join(frame(list(pairs), "low", "high"), JoinRule.NAME)
    final = {concept: root for concept, root, _ in union.frame().iter_rows()}
    members: dict[str, list[str]] = {}
    for concept in {each for pair in pairs for each in pair}:
        members.setdefault(final.get(concept, concept), []).append(concept.partition(":")[0])
    assert all(len(prefixes) == len(set(prefixes)) for prefixes in members.values())
