"""Tests of selecting the join rules that a recipe names."""

from __future__ import annotations

from onym.kb.joins import JoinRule, join_all
from onym.kb.recipe import JoinConfig
from tests.kb.joins.conftest import evidence

NAMES = {
    "mesh:1": ["a"], "mesh:2": ["b"], "mesh:3": ["c", "fine c"], "mesh:4": ["d"],
    "mondo:1": ["one"], "mondo:2": ["b"], "mondo:3": ["fine c"], "mondo:4": ["four"], "mondo:5": ["c of another kind"],
}  # fmt: skip
EDGES = [("mondo:1", "mesh:1", True), ("mondo:3", "mesh:3", False), ("mondo:5", "mesh:3", False)]
SHARED = [("mesh:4", "cas:1"), ("mondo:4", "cas:1")]
ALL = JoinConfig(many_to_one="apart", by_name={"mondo": "either"}, shared_ids=("cas",))


def join_names(config: JoinConfig) -> dict[str, int]:
    return {concept: rule for concept, _, rule in join_all(evidence(NAMES, EDGES, SHARED), config).frame().iter_rows()}


def test_only_cross_references_join_by_default() -> None:
    assert join_names(JoinConfig()) == {"mondo:1": JoinRule.ONE_TO_ONE}


def test_all_rules_can_be_selected() -> None:
    assert join_names(ALL) == {
        "mondo:1": JoinRule.ONE_TO_ONE,
        "mondo:2": JoinRule.NAME,
        "mondo:3": JoinRule.MANY_TO_ONE,
        "mondo:4": JoinRule.SHARED_ID,
    }


def test_ids_in_undo_are_never_joined() -> None:
    for concept in ("mondo:1", "mondo:2", "mondo:3", "mondo:4"):
        assert join_names(ALL.model_copy(update={"undo": (concept,)})).keys() == join_names(ALL).keys() - {concept}
