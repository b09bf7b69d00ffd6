"""Tests of the functions that all join rules share."""

from __future__ import annotations

import polars as pl

from onym.kb.joins import JoinRule, drop_contradicted, orient_pairs, select_unique_pairs
from tests.kb.joins.conftest import evidence, frame

RANKS = pl.DataFrame({"prefix": ["mesh", "mondo", "chebi"]}).with_row_index("rank")


def test_labels() -> None:
    assert [rule.label for rule in JoinRule] == ["one-to-one", "many-to-one", "shared-id", "name"]


def test_the_earlier_vocabulary_is_high() -> None:
    pairs = orient_pairs(frame([("mesh:1", "mondo:1"), ("chebi:1", "mondo:1"), ("mesh:1", "mesh:2")], "a", "b"), RANKS)
    assert pairs.select("low", "high").rows() == [("mondo:1", "mesh:1"), ("chebi:1", "mondo:1")]


def test_a_pair_with_its_own_cross_reference_is_kept() -> None:
    edges = evidence({}, [("mondo:1", "mesh:1", False), ("mondo:1", "mesh:2", False)]).edges
    pairs = frame([("mondo:1", "mesh:1"), ("mondo:1", "mesh:3")], "low", "high")
    assert drop_contradicted(pairs, edges).rows() == [("mondo:1", "mesh:1")]


def test_a_cross_reference_to_a_third_vocabulary_does_not_contradict() -> None:
    edges = evidence({}, [("chebi:1", "mondo:1", True)]).edges
    assert drop_contradicted(frame([("chebi:1", "mesh:1")], "low", "high"), edges).height == 1


def test_pairs_are_unique_per_two_vocabularies() -> None:
    pairs = frame([("mondo:1", "mesh:1"), ("chebi:1", "mesh:1"), ("chebi:2", "mesh:2"), ("chebi:3", "mesh:2")], "low", "high")
    assert select_unique_pairs(pairs).rows() == [("mondo:1", "mesh:1"), ("chebi:1", "mesh:1")]


def test_earlier_joins_count_as_cross_references() -> None:
    known = evidence({"mesh:1": ["a"], "mondo:1": ["b"]})
    joined = pl.DataFrame({"concept": ["mondo:1"], "final": ["mesh:1"]})
    assert known.after(joined).edges.rows() == [("mondo:1", "mesh:1", True)]
