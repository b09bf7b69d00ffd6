"""Tests of ranking concepts by scored names."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.kb.ranking import Ranked, concepts_with_ids, rank_concepts
from onym.types import Candidate, Mention


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def test_a_concept_is_ranked_once_by_its_best_name(kb: KnowledgeBase) -> None:
    names = [(kb.find("mi"), 0.9), (kb.find("heart attack"), 0.8), (kb.find("fever"), 0.7)]
    candidates = rank_concepts(kb, names, 10).candidates
    assert candidates == (
        Candidate("mesh:D006973", "mi", 0.9),
        Candidate("mesh:D009203", "mi", 0.9),
        Candidate("mesh:D005334", "fever", 0.7),
    )
    assert rank_concepts(kb, names, 2).candidates == candidates[:2]


def test_no_names_give_no_candidates(kb: KnowledgeBase) -> None:
    assert rank_concepts(kb, [], 10) == Ranked()
    assert rank_concepts(kb, [(kb.find("mi"), 0.9)], 0) == Ranked()


def test_only_concepts_of_the_mask_are_ranked(kb: KnowledgeBase) -> None:
    only = concepts_with_ids(kb, ["mesh:D009203"])
    assert [c.concept_id for c in rank_concepts(kb, [(kb.find("mi"), 0.9)], 10, only).candidates] == ["mesh:D009203"]


def test_ties_beyond_top_k_are_counted(kb: KnowledgeBase) -> None:
    mi = [(kb.find("mi"), 0.9)]
    assert [rank_concepts(kb, mi, top_k).tied for top_k in (1, 2, 10)] == [1, 1, 1]
    assert rank_concepts(kb, [(kb.find("fever"), 0.95), *mi], 10).tied == 0
    only = concepts_with_ids(kb, ["mesh:D009203"])
    assert rank_concepts(kb, mi, 10, only).tied == 0


def test_a_link_has_the_number_of_ties(kb: KnowledgeBase) -> None:
    mention = Mention(0, 2, "MI")
    link = rank_concepts(kb, [(kb.find("mi"), 0.9)], 1).link(mention)
    assert (link.mention, link.concept_id, link.tied) == (mention, "mesh:D006973", 1)
    assert Ranked().link(mention).nil_reason == "no-candidate"
