"""Tests of ranking concepts by scored names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onym.kb import KnowledgeBase
from onym.kb.ranking import Ranked, best_of, best_of_each, concepts_with_ids, rank_concepts
from onym.types import Candidate, Mention


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def test_a_concept_is_ranked_once_by_its_best_name(kb: KnowledgeBase) -> None:
    names = [(kb.find("mi"), 0.9), (kb.find("heart attack"), 0.8), (kb.find("fever"), 0.7)]
    candidates = rank_concepts(kb, names, 10).candidates
    assert candidates == (
        Candidate("mesh:D006973", "MI", 0.9),
        Candidate("mesh:D009203", "MI", 0.9),
        Candidate("mesh:D005334", "Fever", 0.7),
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


@pytest.mark.parametrize("is_filtered", [False, True])
def test_best_concepts_of_several_queries_are_those_of_each(kb: KnowledgeBase, is_filtered: bool) -> None:
    only = concepts_with_ids(kb, ["mesh:D009203"]) if is_filtered else None
    rows = [[kb.find("mi"), kb.find("heart attack")], [], [kb.find("fever"), kb.find("mi")]]
    found = [(np.array(names, dtype=np.int64), 0.9 - 0.1 * np.arange(len(names))) for names in rows]
    expected = [best_of(kb, zip(names.tolist(), scores.tolist(), strict=True), only) for names, scores in found]
    assert [list(each.items()) for each in best_of_each(kb, found, only)] == [list(each.items()) for each in expected]
    assert best_of_each(kb, found[1:2]) == [{}]
