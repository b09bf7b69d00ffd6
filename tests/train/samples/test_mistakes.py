"""Right and wrong names: a pair's first name is right, its second wrong, and a model's own mistakes are its answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets import PreparedDataset
from onym.kb import KnowledgeBase
from onym.linkers.generative import GenerativeLinker
from onym.train.samples.mentions import mentions_of
from onym.train.samples.mistakes import Preferred, gold_of, iter_knowledge_mistakes, lookalike_mistakes, own_mistakes
from onym.train.samples.pair_rule import preferences
from onym.train.samples.statements import Statements
from onym.train.samples.targets import Place, targets_of
from onym.types import Mention


@pytest.fixture(scope="module")
def kb(kb_folder: Path) -> KnowledgeBase:
    return KnowledgeBase.open(kb_folder)


@pytest.fixture(scope="module")
def places(corpus: Path) -> list[Place]:
    return mentions_of(PreparedDataset.open(corpus).documents("train"))


def require_sound(found: list[Preferred], golds: list[frozenset[int]], kb: KnowledgeBase) -> None:
    assert found
    for each in found:
        gold = golds[each.place]
        assert gold & set(kb.name_concepts[each.right].tolist())
        assert not gold & set(kb.name_concepts[each.wrong].tolist())


@pytest.mark.parametrize("rule", ["violating", "all"])
def test_own_mistakes_are_the_models_answers_by_the_rule(
    model: Path, kb: KnowledgeBase, places: list[Place], rule: str
) -> None:
    linker = GenerativeLinker.from_pretrained(model, kb, window=32, width=5, precision="fp32")
    found = own_mistakes(linker, places, top=4, rule=rule)  # type: ignore[arg-type]
    golds = [gold_of(mention, kb) for _, mention in places]
    require_sound(found, golds, kb)
    expected = []
    for number, decoded in enumerate(linker.decode_mentions(places)):
        names = [int(linker.trie.names_at(each.leaf)[0]) for each in decoded.hypotheses[:4]]
        is_right = [bool(golds[number] & set(kb.name_concepts[name].tolist())) for name in names]
        expected += [Preferred(number, names[good], names[bad]) for good, bad in preferences(is_right, rule=rule)]  # type: ignore[arg-type]
    assert found == expected


def test_lookalikes(kb: KnowledgeBase, places: list[Place]) -> None:
    found = lookalike_mistakes(places, kb, seed=1)
    require_sound(found, [gold_of(mention, kb) for _, mention in places], kb)
    targets = targets_of(places, kb)
    assert all(each.right == targets[each.place][0] for each in found)
    assert found == lookalike_mistakes(places, kb, seed=1)


def test_of_a_knowledge_base(kb: KnowledgeBase) -> None:
    statements = Statements(kb, 3)
    found = list(iter_knowledge_mistakes(statements, kb, 40, seed=3))
    stated = statements.at(range(40))
    assert [each.right for each in found] == [stated[each.place].target for each in found]
    golds = [frozenset(kb.name_concepts[statement.mention].tolist()) for statement in stated]
    require_sound(found, golds, kb)
    assert [each.place for each in found] == sorted({each.place for each in found})


def test_what_a_mention_means(kb: KnowledgeBase) -> None:
    both = gold_of(Mention(0, 2, "MI", ("mesh:D009203", "mesh:D006973", "mesh:D0")), kb)
    assert {kb.concept_ids[concept] for concept in both} == {"mesh:D009203", "mesh:D006973"}
    assert gold_of(Mention(0, 2, "MI"), kb) == frozenset()
