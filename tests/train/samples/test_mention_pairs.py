"""Mentions with names of their concepts: each mention once in an epoch, the name drawn anew."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.text.normal import normal_name
from onym.train.samples.base import Positive, Samples
from onym.train.samples.mention_pairs import MentionPairs
from onym.train.samples.same import labels_of, same_of
from onym.train.samples.targets import DocMention, targets_of
from onym.types import Document, Mention

HEART, FEVER, PRESSURE = "mesh:D009203", "mesh:D005334", "mesh:D006973"
MANY = range(4000)


def doc_mention(surface: str, *concept_ids: str) -> DocMention:
    doc = Document("1", surface, (Mention(0, len(surface), surface, concept_ids),))
    return doc, doc.mentions[0]


DOC_MENTIONS = [
    doc_mention("Heart Attacks", HEART),
    doc_mention("fevers", FEVER),
    doc_mention("woe", "mesh:D000000"),
    doc_mention("MI", PRESSURE),
    doc_mention("hypertensive infarction", PRESSURE, HEART),
    doc_mention("Fever", FEVER),
]
KNOWN = [each for each in DOC_MENTIONS if each[1].surface != "woe"]


@pytest.fixture(scope="module")
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def drawn(kb: KnowledgeBase, similar: float, seed: int = 3) -> list[Positive]:
    return MentionPairs(DOC_MENTIONS, kb, count=len(MANY), similar=similar, seed=seed).__getitems__(MANY)


def test_an_epoch_has_each_known_mention_once(kb: KnowledgeBase) -> None:
    pairs = MentionPairs(DOC_MENTIONS, kb, count=99)
    samples: Samples[Positive] = pairs
    assert (pairs.epoch, len(samples), pairs.unlinkable) == (5, 99, 1)
    surfaces = sorted(normal_name(mention.surface) for _, mention in KNOWN)
    rounds = [[pair.first for pair in pairs.__getitems__(range(start, start + 5))] for start in range(0, 50, 5)]
    assert all(sorted(each) == surfaces for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1


def test_the_closest_name_always(kb: KnowledgeBase) -> None:
    best = {normal_name(mention.surface): names[0] for (_, mention), names in zip(KNOWN, targets_of(KNOWN, kb), strict=True)}
    assert {(pair.first, pair.names[1]) for pair in drawn(kb, 1.0)} == set(best.items())


def test_any_name_about_as_often(kb: KnowledgeBase) -> None:
    counts = Counter((pair.first, pair.names[1]) for pair in drawn(kb, 0.0))
    for _, mention in KNOWN:
        surface = normal_name(mention.surface)
        names = {name for concept_id in mention.concept_ids for name in kb.names_of(kb.resolve(concept_id)[0]).tolist()}
        assert {name for first, name in counts if first == surface} == names
        expected = len(MANY) / len(KNOWN) / len(names)
        assert all(0.6 * expected < counts[surface, name] < 1.4 * expected for name in names)


def test_the_probability_of_the_closest(kb: KnowledgeBase) -> None:
    best = targets_of([DOC_MENTIONS[0]], kb)[0][0]
    found = [pair.names[1] == best for pair in drawn(kb, 0.6) if pair.first == "heart attacks"]
    assert 0.64 < sum(found) / len(found) < 0.76  # 0.6, and a quarter of the rest


def test_a_pair_is_of_a_concept_of_both(kb: KnowledgeBase) -> None:
    for pair in drawn(kb, 0.5):
        assert kb.names[pair.names[1]] == pair.second
        assert pair.concept in kb.name_concepts[pair.names[1]].tolist()
        (mention,) = (mention for _, mention in KNOWN if normal_name(mention.surface) == pair.first)
        meant = {kb.resolve(concept_id)[0] for concept_id in mention.concept_ids}
        assert {pair.concept, *pair.also} == meant
        assert pair.concept not in pair.also


def test_strings_are_known_by_their_ids(kb: KnowledgeBase) -> None:
    ids = {pair.first: pair.names[0] for pair in drawn(kb, 0.5)}
    assert ids["fever"] == kb.find("fever")
    assert ids["mi"] == kb.find("mi")
    unknown = [ids[surface] for surface in ("heart attacks", "fevers", "hypertensive infarction")]
    assert min(unknown) >= len(kb.names)
    assert len(set(unknown)) == 3


def test_one_surface_of_two_concepts_is_no_negative_of_itself(kb: KnowledgeBase) -> None:
    mentions = [doc_mention("attack of something", HEART), doc_mention("Attack of something", FEVER)]
    batch = MentionPairs(mentions, kb, count=2).__getitems__([0, 1])
    same = same_of(batch, kb)
    assert len(set(labels_of(batch).tolist())) == 2
    assert same[0, 1]
    assert same.sum() == 2


def test_the_seed_gives_the_pairs(kb: KnowledgeBase) -> None:
    assert drawn(kb, 0.5) == drawn(kb, 0.5)
    assert drawn(kb, 0.5) != drawn(kb, 0.5, seed=4)


@given(indices=st.lists(st.integers(0, 5000), max_size=9))
def test_a_pair_does_not_depend_on_its_batch(kb: KnowledgeBase, indices: list[int]) -> None:
    pairs = MentionPairs(DOC_MENTIONS, kb, count=9, similar=0.0)
    assert pairs.__getitems__(indices) == [pairs.__getitems__([number])[0] for number in indices]


def test_nothing_is_compared_where_no_similar_name_is_wanted(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.train.samples.targets.open_similarity", None)
    assert MentionPairs(DOC_MENTIONS, kb, count=9, similar=0.0).epoch == 5


def test_what_cannot_be_is_refused(kb: KnowledgeBase) -> None:
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ConfigError) as refused:
            MentionPairs(DOC_MENTIONS, kb, count=9, similar=wrong)
        assert refused.value.code == "config-invalid"
    with pytest.raises(InputError) as empty:
        MentionPairs([DOC_MENTIONS[2]], kb, count=9)
    assert empty.value.code == "training-empty"


def test_a_mention_of_which_nothing_is_left_is_not_learnt(kb: KnowledgeBase) -> None:
    """A linker does not look for it, either."""
    pairs = MentionPairs([doc_mention("+-", FEVER), doc_mention("fevers", FEVER)], kb, count=9)
    assert (pairs.epoch, pairs.unlinkable) == (1, 1)
    assert {pair.first for pair in pairs.__getitems__(range(9))} == {"fevers"}
