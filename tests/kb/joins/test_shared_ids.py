"""Tests of joining concepts that cross-reference the same id of a third vocabulary."""

from __future__ import annotations

from onym.kb.joins import by_shared_id
from tests.kb.joins.conftest import evidence

NAMES = {"mesh:1": ["a"], "mesh:2": ["b"], "chebi:1": ["c"], "chebi:2": ["d"]}


def test_joins_concepts_that_share_an_id() -> None:
    known = evidence(NAMES, shared=[("mesh:1", "cas:1"), ("chebi:1", "cas:1"), ("chebi:2", "cas:2")])
    assert by_shared_id(known, ["cas"]).rows() == [("chebi:1", "mesh:1")]


def test_ids_of_other_vocabularies_are_ignored() -> None:
    known = evidence(NAMES, shared=[("mesh:1", "umls:1"), ("chebi:1", "umls:1")])
    assert by_shared_id(known, ["cas"]).is_empty()


def test_an_id_shared_within_a_vocabulary_does_not_join() -> None:
    known = evidence(NAMES, shared=[("mesh:1", "cas:1"), ("chebi:1", "cas:1"), ("chebi:2", "cas:1")])
    assert by_shared_id(known, ["cas"]).is_empty()


def test_contradicting_ids_do_not_join() -> None:
    shared = [("mesh:1", "cas:1"), ("chebi:1", "cas:1"), ("mesh:2", "cas:2"), ("chebi:1", "cas:2")]
    assert by_shared_id(evidence(NAMES, shared=shared), ["cas"]).is_empty()


def test_a_cross_reference_to_another_concept_contradicts_a_pair() -> None:
    shared = [("mesh:1", "cas:1"), ("chebi:1", "cas:1")]
    assert by_shared_id(evidence(NAMES, [("chebi:1", "mesh:2", True)], shared), ["cas"]).is_empty()
