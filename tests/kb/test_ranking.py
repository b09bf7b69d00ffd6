"""The order of candidates."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.kb.masks import concepts_with_ids
from onym.kb.ranking import are_tied, rank_concepts
from onym.types import Candidate


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def test_a_concept_stands_once_by_its_best_name(kb: KnowledgeBase) -> None:
    names = [(kb.find("mi"), 0.9), (kb.find("heart attack"), 0.8), (kb.find("fever"), 0.7)]
    candidates = rank_concepts(kb, names, 10)
    assert candidates == (
        Candidate("mesh:D006973", "mi", 0.9),
        Candidate("mesh:D009203", "mi", 0.9),
        Candidate("mesh:D005334", "fever", 0.7),
    )
    assert rank_concepts(kb, names, 2) == candidates[:2]


def test_no_names_and_no_concepts(kb: KnowledgeBase) -> None:
    assert rank_concepts(kb, [], 10) == ()
    assert rank_concepts(kb, [(kb.find("mi"), 0.9)], 0) == ()


def test_only_the_wanted_are_ranked(kb: KnowledgeBase) -> None:
    only = concepts_with_ids(kb, ["mesh:D009203"])
    assert [c.concept_id for c in rank_concepts(kb, [(kb.find("mi"), 0.9)], 10, only)] == ["mesh:D009203"]


def test_ties() -> None:
    first, second = Candidate("a:1", "x", 1.0), Candidate("a:2", "y", 0.5)
    assert not are_tied([])
    assert not are_tied([first])
    assert not are_tied([first, second])
    assert are_tied([first, Candidate("a:3", "z", 1.0), second])
