"""Tests of deriving one-to-one pairs of concepts from cross-references."""

from __future__ import annotations

import polars as pl

from onym.kb.joins import xref_edges
from tests.kb.joins.conftest import frame

STANDING = pl.DataFrame({"concept": ["mesh:1", "mesh:2", "mondo:1", "mondo:2"]})
RANKS = pl.DataFrame({"prefix": ["mesh", "mondo"]}).with_row_index("rank")


def test_edges_are_one_to_one_in_either_direction() -> None:
    xrefs = frame([("mondo:1", "mesh:1"), ("mesh:1", "mondo:1"), ("mesh:2", "mondo:2")], "concept", "xref")
    assert xref_edges(xrefs, STANDING, RANKS).rows() == [("mondo:1", "mesh:1", True), ("mondo:2", "mesh:2", True)]


def test_several_cross_references_are_not_one_to_one() -> None:
    xrefs = frame([("mondo:1", "mesh:1"), ("mondo:1", "mesh:2")], "concept", "xref")
    assert [is_single for *_, is_single in xref_edges(xrefs, STANDING, RANKS).rows()] == [False, False]


def test_unknown_ids_and_pairs_of_one_vocabulary_give_no_edges() -> None:
    xrefs = frame([("mondo:1", "omim:1"), ("mesh:1", "mesh:2")], "concept", "xref")
    assert xref_edges(xrefs, STANDING, RANKS).is_empty()


def test_no_edges_without_merging() -> None:
    assert xref_edges(frame([("mondo:1", "mesh:1")], "concept", "xref"), STANDING, RANKS, merge=False).is_empty()
