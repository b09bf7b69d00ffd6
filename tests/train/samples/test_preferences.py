"""Right and wrong names: a pair's first name is right, its second wrong, and those of a model are its own predictions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.datasets import PreparedDataset
from onym.kb import KnowledgeBase
from onym.linkers.generative import GenerativeLinker
from onym.train.samples.mentions import mentions_of
from onym.train.samples.preferences import (
    PreferencePair,
    iter_kb_preferences,
    lookalike_preferences,
    predicted_preferences,
    rank_preferences,
)
from onym.train.samples.statements import Statements
from onym.train.samples.targets import DocMention, gold_concepts, targets_of
from onym.types import Mention


@pytest.fixture(scope="module")
def kb(kb_folder: Path) -> KnowledgeBase:
    return KnowledgeBase.open(kb_folder)


@pytest.fixture(scope="module")
def mentions(corpus: Path) -> list[DocMention]:
    return mentions_of(PreparedDataset.open(corpus).documents("train"))


def require_sound(found: list[PreferencePair], golds: list[frozenset[int]], kb: KnowledgeBase) -> None:
    assert found
    for each in found:
        gold = golds[each.mention]
        assert gold & set(kb.name_concepts[each.right].tolist())
        assert not gold & set(kb.name_concepts[each.wrong].tolist())


@pytest.mark.parametrize("rule", ["violating", "all"])
def test_predictions_by_the_rule(model: Path, kb: KnowledgeBase, mentions: list[DocMention], rule: str) -> None:
    linker = GenerativeLinker.from_pretrained(model, kb, window=32, width=5, dtype="fp32")
    found = predicted_preferences(linker, mentions, top_k=4, rule=rule)  # type: ignore[arg-type]
    golds = [gold_concepts(mention, kb) for _, mention in mentions]
    require_sound(found, golds, kb)
    expected = []
    for number, decoded in enumerate(linker.decode_mentions(mentions)):
        names = [int(linker.trie.names_at(each.leaf)[0]) for each in decoded.hypotheses[:4]]
        is_right = [bool(golds[number] & set(kb.name_concepts[name].tolist())) for name in names]
        expected += [PreferencePair(number, names[good], names[bad]) for good, bad in rank_preferences(is_right, rule=rule)]  # type: ignore[arg-type]
    assert found == expected


def test_lookalikes(kb: KnowledgeBase, mentions: list[DocMention]) -> None:
    found = lookalike_preferences(mentions, kb, seed=1)
    require_sound(found, [gold_concepts(mention, kb) for _, mention in mentions], kb)
    targets = targets_of(mentions, kb)
    assert all(each.right == targets[each.mention][0] for each in found)
    assert found == lookalike_preferences(mentions, kb, seed=1)


def test_of_a_knowledge_base(kb: KnowledgeBase) -> None:
    statements = Statements(kb, 3)
    found = list(iter_kb_preferences(statements, kb, 40, seed=3))
    stated = statements.at(range(40))
    assert [each.right for each in found] == [stated[each.mention].target for each in found]
    golds = [frozenset(kb.name_concepts[statement.mention].tolist()) for statement in stated]
    require_sound(found, golds, kb)
    assert [each.mention for each in found] == sorted({each.mention for each in found})


def test_what_a_mention_means(kb: KnowledgeBase) -> None:
    both = gold_concepts(Mention(0, 2, "MI", ("mesh:D009203", "mesh:D006973", "mesh:D0")), kb)
    assert {kb.concept_ids[concept] for concept in both} == {"mesh:D009203", "mesh:D006973"}
    assert gold_concepts(Mention(0, 2, "MI"), kb) == frozenset()


RANKED = st.lists(st.booleans(), max_size=8)


@given(RANKED)
def test_all_pairs_are_each_right_one_with_each_wrong_one(is_right: list[bool]) -> None:
    ranks = range(len(is_right))
    expected = {(good, bad) for good in ranks for bad in ranks if is_right[good] and not is_right[bad]}
    found = rank_preferences(is_right, rule="all")
    assert len(found) == len(expected)
    assert set(found) == expected


@given(RANKED)
def test_pairs_in_the_wrong_order_and_the_first_that_keeps_the_best(is_right: list[bool]) -> None:
    found = rank_preferences(is_right)
    violating = {(good, bad) for good, bad in rank_preferences(is_right, rule="all") if bad < good}
    kept = {(0, is_right.index(False))} if is_right[:1] == [True] and False in is_right else set()
    assert set(found) == violating | kept
    assert len(found) == len(set(found))


def test_by_hand() -> None:
    assert rank_preferences([True, True, False, True, False]) == [(0, 2), (3, 2)]
    assert rank_preferences([False, False, True]) == [(2, 0), (2, 1)]
    assert rank_preferences([True, True]) == rank_preferences([False, False]) == rank_preferences([]) == []
