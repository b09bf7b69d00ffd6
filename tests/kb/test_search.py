"""Tests of finding concepts by name."""

from __future__ import annotations

from onym.kb.search import search
from tests.kb.conftest import Builder

TABLE = """id\tname\tsynonyms
a:1\tFever\tPyrexia|High temperature
a:2\tFever of unknown origin\t
a:3\tYellow fever\tFever, yellow
a:4\tCough\tMI
a:5\tInfarction\tMI
"""


def test_exact_then_prefix_then_words(build: Builder) -> None:
    hits = search(build(TABLE), "Fever")
    assert [(hit.concept_id, hit.match) for hit in hits] == [("a:1", "exact"), ("a:3", "prefix"), ("a:2", "prefix")]


def test_words_in_any_order(build: Builder) -> None:
    assert [hit.concept_id for hit in search(build(TABLE), "origin fever")] == ["a:2"]


def test_a_shared_name_finds_all_its_concepts_up_to_the_limit(build: Builder) -> None:
    kb = build(TABLE)
    assert [hit.concept_id for hit in search(kb, "mi")] == ["a:4", "a:5"]
    assert len(search(kb, "fever", limit=1)) == 1


def test_an_empty_query_finds_nothing(build: Builder) -> None:
    assert search(build(TABLE), " ?! ") == []
