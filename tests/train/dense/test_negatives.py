"""Tests of mining hard negatives: the nearest wrong concepts of each mention."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onym.kb import KnowledgeBase
from onym.methods.dense.linker import DenseLinker
from onym.train.dense.pairs import HardPairs, Negatives, mine
from onym.train.samples.mentions import DocMention, MentionPairs
from onym.types import Document, Mention
from tests.support.linking import link_with

HEART, FEVER, PRESSURE = "mesh:D009203", "mesh:D005334", "mesh:D006973"
DOC = Document(
    "1",
    "fevers heart attacks",
    (Mention(0, 6, "fevers", ("mesh:D005334",)), Mention(7, 20, "heart attacks", ("mesh:D009203",))),
)


def doc_mention(surface: str, *concept_ids: str) -> DocMention:
    doc = Document("1", surface, (Mention(0, len(surface), surface, concept_ids),))
    return doc, doc.mentions[0]


DOC_MENTIONS = [
    doc_mention("Heart Attacks", HEART),
    doc_mention("fevers", FEVER),
    doc_mention("MI of pressure", PRESSURE, HEART),
]


@pytest.fixture(scope="module")
def kb(kb_folder: Path) -> KnowledgeBase:
    return KnowledgeBase.open(kb_folder)


@pytest.fixture(scope="module")
def linker(kb: KnowledgeBase, encoder: Path) -> DenseLinker:
    return DenseLinker.from_pretrained(encoder, kb, dtype="fp32")


def test_mines_nearest_wrong_concepts(kb: KnowledgeBase, linker: DenseLinker) -> None:
    pairs = MentionPairs(DOC_MENTIONS, kb, count=0)
    for row, wrong in enumerate(mine(linker, pairs, 2)):
        queries = pairs.queries[row]
        doc = Document("1", queries.surface, (Mention(0, len(queries.surface), queries.surface),))
        (linked,) = link_with(linker, [doc])
        wanted = [
            (kb.concept_ids.find(each.concept_id), kb.find(each.name))
            for each in linked.links[0].candidates
            if not set(kb.name_concepts[kb.find(each.name)].tolist()) & set(queries.concepts)
        ]
        assert wrong == wanted[:2]
        assert not {concept for concept, _ in wrong} & set(queries.concepts)
    assert len(mine(linker, pairs, 1)[0]) == 1


def test_hard_pairs_follow_their_mention(kb: KnowledgeBase) -> None:
    pairs = MentionPairs(DOC_MENTIONS, kb, count=0, similar=1.0)
    fever, pressure = (kb.resolve(concept_id)[0] for concept_id in (FEVER, PRESSURE))
    wrong = [[(fever, kb.find("fever")), (pressure, kb.find("hypertension"))], [(pressure, kb.find("hypertension"))], []]
    hard = HardPairs(pairs, wrong, kb, 2)
    assert (hard.epoch, len(hard), len(hard.with_count(5))) == (9, 0, 5)
    found = hard.__getitems__(range(90))
    for start in range(0, 90, 3):
        (row,) = (n for n, each in enumerate(pairs.queries) if each.surface == found[start].first)
        expected = [each[0] for each in wrong[row]]
        assert [pair.concept for pair in found[start + 1 : start + 1 + len(expected)]] == expected
        for pair, (concept, name) in zip(found[start + 1 :], wrong[row], strict=False):
            assert pair.names[0] == name != pair.names[1]
            assert {pair.first, pair.second} == {kb.names[each] for each in pair.names}
            assert pair.names[1] in kb.names_of(concept).tolist()
        assert all(pair == found[start] for pair in found[start + 1 + len(expected) : start + 3])
    assert len({pair.names for pair in found if pair.concept == fever}) > 2
    assert hard.__getitems__([4, 70]) == [found[4], found[70]]


def test_wrong_concept_with_one_name_is_paired_with_itself(tmp_path: Path) -> None:
    from tests.methods.dense.index.made import kb_of

    kb = kb_of(tmp_path, ["fever", "cough"])
    pairs = MentionPairs([doc_mention("fevers", "demo:0")], kb, count=0, similar=0.0)
    cough = (kb.resolve("demo:1")[0], kb.find("cough"))
    found = HardPairs(pairs, [[cough]], kb, 1).__getitems__([1])[0]
    assert (found.first, found.second, found.names) == ("cough", "cough", (cough[1], cough[1]))


def make_negatives(kb: KnowledgeBase, **more: float) -> Negatives:
    queries = MentionPairs([(DOC, mention) for mention in DOC.mentions], kb, count=0, similar=1.0).queries
    pools = np.array([np.arange(len(kb.names)), np.arange(len(kb.names))[::-1]])
    pools[1, -1] = -1
    options = {"hard": 3, "random": 2, "similar": 1.0, "seed": 5} | more
    return Negatives(queries, kb, pools, **options)  # type: ignore[arg-type]


def test_hard_negatives_are_nearest_at_last_mining(kb: KnowledgeBase) -> None:
    negatives = make_negatives(kb)
    own = [set(each.names) for each in negatives.queries]
    before = [list(near) for near in negatives.hard]
    assert before[0] == [name for name in range(len(kb.names)) if name not in own[0]][:3]
    vectors = np.eye(len(kb.names), dtype=np.float32)
    wanted = [max(set(range(len(kb.names))) - names) for names in own]
    assert negatives.names.tolist() == list(range(len(kb.names)))
    negatives.mine(vectors[wanted], vectors)
    for near, best, names in zip(negatives.hard, wanted, own, strict=True):
        assert near[0] == best
        assert not set(near) & names
        assert len(near) == 3


def test_sample_has_a_right_name_of_each_mention(kb: KnowledgeBase) -> None:
    negatives = make_negatives(kb)
    names = negatives.sample([1, 0, 1], step=4)
    assert len(names) == len(set(names))
    right = negatives.is_positive([1, 0, 1], names)
    assert right.any(1).all()
    assert not right.all()
    for row, mention in enumerate((1, 0, 1)):
        assert {name for name, is_right in zip(names, right[row], strict=True) if is_right} == set(names) & set(
            negatives.queries[mention].names
        )
        assert negatives.queries[mention].best in names
        assert set(negatives.hard[mention]) <= set(names)
    assert negatives.sample([1, 0, 1], step=4) == names
    assert {tuple(negatives.sample([0], step=step)) for step in range(9)} != {tuple(negatives.sample([0], step=0))}


def test_samples_all_right_names(kb: KnowledgeBase) -> None:
    negatives = make_negatives(kb, similar=0.0, hard=0, random=0)
    found = {name for step in range(60) for name in negatives.sample([0], step)}
    assert found == set(negatives.queries[0].names)


def test_samples_nothing_without_mentions(kb: KnowledgeBase) -> None:
    negatives = make_negatives(kb)
    assert negatives.sample([], 0) == []
    assert negatives.is_positive([], [1, 2]).shape == (0, 2)
