"""Wrong concepts beside a mention: those that the linker finds nearest, and never one that it means."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.linkers.dense import DenseLinker
from onym.train.samples.hard import HardPairs, mine
from onym.train.samples.mention_pairs import MentionPairs
from onym.train.samples.targets import DocMention
from onym.types import Document, Mention

HEART, FEVER, PRESSURE = "mesh:D009203", "mesh:D005334", "mesh:D006973"


def doc_mention(surface: str, *concept_ids: str) -> DocMention:
    doc = Document("1", surface, (Mention(0, len(surface), surface, concept_ids),))
    return doc, doc.mentions[0]


DOC_MENTIONS = [
    doc_mention("Heart Attacks", HEART),
    doc_mention("fevers", FEVER),
    doc_mention("MI of pressure", PRESSURE, HEART),
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory, tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(shutil.copytree(tiny_kb, tmp_path_factory.mktemp("hard") / "kb"))


@pytest.fixture(scope="module")
def linker(kb: KnowledgeBase, encoder: Path) -> DenseLinker:
    return DenseLinker.from_pretrained(encoder, kb, dtype="fp32")


def test_the_nearest_concepts_that_are_not_meant(kb: KnowledgeBase, linker: DenseLinker) -> None:
    pairs = MentionPairs(DOC_MENTIONS, kb, count=0)
    for row, wrong in enumerate(mine(linker, pairs, 2)):
        queries = pairs.queries[row]
        doc = Document("1", queries.surface, (Mention(0, len(queries.surface), queries.surface),))
        (linked,) = linker.link([doc])
        wanted = [
            (kb.concept_ids.find(each.concept_id), kb.names.find(each.name))
            for each in linked.links[0].candidates
            if not set(kb.name_concepts[kb.names.find(each.name)].tolist()) & set(queries.concepts)
        ]
        assert wrong == wanted[:2]
        assert not {concept for concept, _ in wrong} & set(queries.concepts)
    assert len(mine(linker, pairs, 1)[0]) == 1


def test_each_mention_is_followed_by_its_own(kb: KnowledgeBase) -> None:
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


def test_a_concept_of_one_name_is_a_pair_with_itself(tmp_path: Path) -> None:
    from tests.index.made import kb_of

    kb = kb_of(tmp_path, ["fever", "cough"])
    pairs = MentionPairs([doc_mention("fevers", "demo:0")], kb, count=0, similar=0.0)
    cough = (kb.resolve("demo:1")[0], kb.find("cough"))
    found = HardPairs(pairs, [[cough]], kb, 1).__getitems__([1])[0]
    assert (found.first, found.second, found.names) == ("cough", "cough", (cough[1], cough[1]))
