"""Joins by an id of a third vocabulary."""

from __future__ import annotations

from onym.kb.joins import by_shared_id
from tests.kb.joins.conftest import evidence

NAMES = {"mesh:1": ["a"], "mesh:2": ["b"], "chebi:1": ["c"], "chebi:2": ["d"]}


def test_one_concept_of_each_vocabulary_with_the_id() -> None:
    known = evidence(NAMES, shared=[("mesh:1", "cas:1"), ("chebi:1", "cas:1"), ("chebi:2", "cas:2")])
    assert by_shared_id(known, ["cas"]).rows() == [("chebi:1", "mesh:1")]


def test_other_vocabularies_do_not_count() -> None:
    known = evidence(NAMES, shared=[("mesh:1", "umls:1"), ("chebi:1", "umls:1")])
    assert by_shared_id(known, ["cas"]).is_empty()


def test_an_id_of_two_concepts_of_one_vocabulary_says_nothing() -> None:
    known = evidence(NAMES, shared=[("mesh:1", "cas:1"), ("chebi:1", "cas:1"), ("chebi:2", "cas:1")])
    assert by_shared_id(known, ["cas"]).is_empty()


def test_ids_that_disagree_join_nothing() -> None:
    shared = [("mesh:1", "cas:1"), ("chebi:1", "cas:1"), ("mesh:2", "cas:2"), ("chebi:1", "cas:2")]
    assert by_shared_id(evidence(NAMES, shared=shared), ["cas"]).is_empty()


def test_a_cross_reference_elsewhere_contradicts() -> None:
    shared = [("mesh:1", "cas:1"), ("chebi:1", "cas:1")]
    assert by_shared_id(evidence(NAMES, [("chebi:1", "mesh:2", True)], shared), ["cas"]).is_empty()
