"""What the rules share."""

from __future__ import annotations

import polars as pl

from onym.kb.joins import JoinRule, drop_contradicted, orient_pairs, select_unique_pairs
from tests.kb.joins.conftest import evidence, frame

RANKS = pl.DataFrame({"prefix": ["mesh", "mondo", "chebi"]}).with_row_index("rank")


def test_labels() -> None:
    assert [rule.label for rule in JoinRule] == ["one-to-one", "many-to-one", "shared-id", "name"]


def test_the_vocabulary_that_comes_first_is_high() -> None:
    pairs = orient_pairs(frame([("mesh:1", "mondo:1"), ("chebi:1", "mondo:1"), ("mesh:1", "mesh:2")], "a", "b"), RANKS)
    assert pairs.select("low", "high").rows() == [("mondo:1", "mesh:1"), ("chebi:1", "mondo:1")]


def test_a_pair_that_is_stated_itself_is_not_contradicted() -> None:
    edges = evidence({}, [("mondo:1", "mesh:1", False), ("mondo:1", "mesh:2", False)]).edges
    pairs = frame([("mondo:1", "mesh:1"), ("mondo:1", "mesh:3")], "low", "high")
    assert drop_contradicted(pairs, edges).rows() == [("mondo:1", "mesh:1")]


def test_a_cross_reference_to_a_third_vocabulary_contradicts_nothing() -> None:
    edges = evidence({}, [("chebi:1", "mondo:1", True)]).edges
    assert drop_contradicted(frame([("chebi:1", "mesh:1")], "low", "high"), edges).height == 1


def test_pairs_compete_inside_the_same_two_vocabularies() -> None:
    pairs = frame([("mondo:1", "mesh:1"), ("chebi:1", "mesh:1"), ("chebi:2", "mesh:2"), ("chebi:3", "mesh:2")], "low", "high")
    assert select_unique_pairs(pairs).rows() == [("mondo:1", "mesh:1"), ("chebi:1", "mesh:1")]


def test_joins_count_as_cross_references_afterwards() -> None:
    known = evidence({"mesh:1": ["a"], "mondo:1": ["b"]})
    joined = pl.DataFrame({"concept": ["mondo:1"], "final": ["mesh:1"]})
    assert known.after(joined).edges.rows() == [("mondo:1", "mesh:1", True)]
