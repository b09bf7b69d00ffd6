"""The rules that a recipe chooses, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

from onym.kb.joins.names import by_name, by_xref_and_name
from onym.kb.joins.rule import Evidence, JoinRule
from onym.kb.joins.shared_ids import by_shared_id
from onym.kb.joins.union import Union
from onym.kb.recipe import JoinConfig

Propose = Callable[[Evidence], pl.DataFrame]


def join_all(evidence: Evidence, joins: JoinConfig) -> Union:
    """Join what the chosen rules propose. What one rule has joined no later rule may contradict."""
    union = Union(joins.undo)
    for rule, propose in _rules(joins):
        union.join(propose(evidence.after(union.frame())), rule)
    return union


def _rules(joins: JoinConfig) -> Iterator[tuple[JoinRule, Propose]]:
    yield JoinRule.ONE_TO_ONE, lambda evidence: evidence.edges.filter("one_to_one")
    if joins.by_name and joins.many_to_one == "apart":
        yield JoinRule.MANY_TO_ONE, lambda evidence: by_xref_and_name(evidence, joins.by_name)
    if joins.by_name:
        yield JoinRule.NAME, lambda evidence: by_name(evidence, joins.by_name)
    if joins.shared_ids:
        yield JoinRule.SHARED_ID, lambda evidence: by_shared_id(evidence, joins.shared_ids)
