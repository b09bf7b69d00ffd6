"""Tests of training samples made from mentions: target names, and pairs of a mention and a name."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.datasets import PreparedDataset
from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.text.normal import normal_name
from onym.text.similarity import NameSimilarity
from onym.train.dense.pairs import labels_of, same_of
from onym.train.samples.base import Positive, Sample, Samples
from onym.train.samples.mentions import (
    Choice,
    DocMention,
    MentionPairs,
    MentionSamples,
    mentions_of,
    require_linkable,
    targets_of,
)
from onym.types import Document, Mention
from tests.train.tiny import layout

HEART, FEVER, PRESSURE = "mesh:D009203", "mesh:D005334", "mesh:D006973"
MANY = range(4000)


@pytest.fixture(scope="module")
def kb(kb_folder: Path) -> KnowledgeBase:
    return KnowledgeBase.open(kb_folder)


def doc_mention(surface: str, *concept_ids: str) -> DocMention:
    doc = Document("1", surface, (Mention(0, len(surface), surface, concept_ids),))
    return doc, doc.mentions[0]


def list_names(kb: KnowledgeBase, *mentions: DocMention, choice: Choice = "similar", count: int = 1) -> list[list[str]]:
    return [[kb.names[name] for name in names] for names in targets_of(mentions, kb, choice=choice, count=count)]


def test_targets_are_closest_names_best_first(kb: KnowledgeBase) -> None:
    (found,) = list_names(kb, doc_mention("Heart Attacks", "mesh:D009203"), count=4)
    similarity = NameSimilarity.of(kb.names)
    scores = similarity.pairwise([normal_name("Heart Attacks")] * len(found), found).tolist()
    assert found[0] == "heart attack"
    assert sorted(found) == ["heart attack", "infarct myocardial", "mi", "myocardial infarction"]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[1]


def test_targets_are_names_of_the_gold_concepts(kb: KnowledgeBase) -> None:
    assert list_names(kb, doc_mention("heart attack", "mesh:D005334"), count=9)[0] == ["fever", "pyrexia", "hyperthermia"]


def test_targets_of_two_concepts_have_no_duplicates(kb: KnowledgeBase) -> None:
    (found,) = list_names(kb, doc_mention("MI", "mesh:D009203", "mesh:D006973"), count=9)
    assert len(found) == len(set(found)) == 6
    assert found[0] == "mi"


def test_short_target_is_the_shortest_name(kb: KnowledgeBase) -> None:
    assert list_names(kb, doc_mention("heart attack", "mesh:D009203"), choice="short", count=2) == [["mi", "heart attack"]]


def test_sampled_targets_are_all_names(kb: KnowledgeBase) -> None:
    assert sorted(list_names(kb, doc_mention("x", "mesh:D005334"), choice="sampled")[0]) == ["fever", "hyperthermia", "pyrexia"]


@pytest.mark.parametrize("choice", ["similar", "short", "sampled"])
def test_concepts_not_in_kb_have_no_targets(kb: KnowledgeBase, choice: Choice) -> None:
    mentions = [
        doc_mention("a", "mesh:D0"),
        doc_mention("fever", "mesh:D005334"),
        doc_mention("b"),
        doc_mention("mi", "mesh:D006973"),
    ]
    found = list_names(kb, *mentions, choice=choice)
    assert [bool(names) for names in found] == [False, True, False, True]
    assert list_names(kb, choice=choice) == []


def test_rejects_dataset_without_linkable_mentions() -> None:
    require_linkable(1)
    with pytest.raises(InputError) as empty:
        require_linkable(0)
    assert empty.value.code == "training-empty"


def test_resolves_alternative_ids(kb: KnowledgeBase) -> None:
    assert list_names(kb, doc_mention("fever", "MESH:D005334")) == [["fever"]]


@pytest.fixture(scope="module")
def mentions(corpus: Path) -> list[DocMention]:
    return mentions_of(PreparedDataset.open(corpus).documents("train"))


def make_samples(mentions: list[DocMention], kb: KnowledgeBase, model: Path, count: int = 36, **more: object) -> MentionSamples:
    return MentionSamples(mentions, kb, layout(model), count=count, **more)  # type: ignore[arg-type]


def key(sample: Sample) -> str:
    return repr((sample.source, sample.prompt, sample.name))


def test_epoch_has_each_mention_once(mentions: list[DocMention], kb: KnowledgeBase, model: Path) -> None:
    samples = make_samples(mentions, kb, model)
    assert (samples.epoch, len(samples), samples.unlinkable) == (12, 36, 0)
    first, second = (Counter(map(key, samples.__getitems__(range(start, start + 12)))) for start in (0, 12))
    assert first == second
    assert [key(each) for each in samples.__getitems__(range(12))] != [
        key(each) for each in samples.__getitems__(range(12, 24))
    ]
    how, targets = layout(model), targets_of(mentions, kb)
    expected = [
        Sample(
            how.source(doc.text, mention.start, mention.end),
            how.prompt(mention.surface),
            how.name(kb.names[names[0]]),
        )
        for (doc, mention), names in zip(mentions, targets, strict=True)
    ]
    assert first == Counter(map(key, expected))


def test_each_target_name_is_a_sample(mentions: list[DocMention], kb: KnowledgeBase, model: Path) -> None:
    samples = make_samples(mentions, kb, model, names=3)
    assert samples.epoch == sum(map(len, targets_of(mentions, kb, count=3))) == 36
    found = samples.__getitems__(range(36))
    assert len(set(map(key, found))) == 36


def test_samples_all_names(mentions: list[DocMention], kb: KnowledgeBase, model: Path) -> None:
    samples = make_samples(mentions, kb, model, count=12 * 30, choice="sampled")
    assert samples.epoch == 12
    written: dict[str, set[str]] = {}
    for sample in samples.__getitems__(range(12 * 30)):
        written.setdefault(repr(sample.source), set()).add(repr(sample.name))
    assert sorted(map(len, written.values())) == sorted(map(len, targets_of(mentions, kb, choice="sampled")))
    assert samples.__getitems__([7]) == make_samples(mentions, kb, model, count=12 * 30, choice="sampled").__getitems__([7])


def test_sample_is_determined_by_seed_and_index(mentions: list[DocMention], kb: KnowledgeBase, model: Path) -> None:
    samples = make_samples(mentions, kb, model, seed=3)
    whole = samples.__getitems__(range(36))
    assert [samples.__getitems__([index])[0] for index in range(35, -1, -1)] == whole[::-1]
    assert make_samples(mentions, kb, model, seed=4).__getitems__(range(36)) != whole


def test_leaves_out_mentions_not_in_kb(kb: KnowledgeBase, model: Path) -> None:
    doc = Document("1", "fever or woe", (Mention(0, 5, "fever", ("mesh:D005334",)), Mention(9, 12, "woe", ("mesh:D000000",))))
    samples = make_samples([(doc, mention) for mention in doc.mentions], kb, model, count=4)
    assert (samples.unlinkable, samples.epoch) == (1, 1)
    assert {key(each) for each in samples.__getitems__(range(4))} == {key(samples.__getitems__([0])[0])}


def test_leaves_out_mentions_without_id_and_excluded_ones() -> None:
    fever, cough, none = Mention(0, 5, "fever", ("mesh:D1",)), Mention(6, 11, "cough", ("mesh:D2",)), Mention(12, 15, "bad")
    doc = Document("1", "fever cough bad", (fever, cough, none))
    dev = Document("1", "fever cough bad", (cough,))
    assert mentions_of([doc]) == [(doc, fever), (doc, cough)]
    assert mentions_of([doc], exclude=[dev]) == [(doc, fever)]
    assert mentions_of([doc], exclude=[Document("2", doc.text, (cough,))]) == [(doc, fever), (doc, cough)]


DOC_MENTIONS = [
    doc_mention("Heart Attacks", HEART),
    doc_mention("fevers", FEVER),
    doc_mention("woe", "mesh:D000000"),
    doc_mention("MI", PRESSURE),
    doc_mention("hypertensive infarction", PRESSURE, HEART),
    doc_mention("Fever", FEVER),
]


KNOWN = [each for each in DOC_MENTIONS if each[1].surface != "woe"]


def draw_pairs(kb: KnowledgeBase, similar: float, seed: int = 3) -> list[Positive]:
    return MentionPairs(DOC_MENTIONS, kb, count=len(MANY), similar=similar, seed=seed).__getitems__(MANY)


def test_pair_epoch_has_each_linkable_mention_once(kb: KnowledgeBase) -> None:
    pairs = MentionPairs(DOC_MENTIONS, kb, count=99)
    samples: Samples[Positive] = pairs
    assert (pairs.epoch, len(samples), pairs.unlinkable) == (5, 99, 1)
    surfaces = sorted(normal_name(mention.surface) for _, mention in KNOWN)
    rounds = [[pair.first for pair in pairs.__getitems__(range(start, start + 5))] for start in range(0, 50, 5)]
    assert all(sorted(each) == surfaces for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1


def test_similar_1_always_uses_the_closest_name(kb: KnowledgeBase) -> None:
    best = {normal_name(mention.surface): names[0] for (_, mention), names in zip(KNOWN, targets_of(KNOWN, kb), strict=True)}
    assert {(pair.first, pair.names[1]) for pair in draw_pairs(kb, 1.0)} == set(best.items())


def test_similar_0_draws_names_uniformly(kb: KnowledgeBase) -> None:
    counts = Counter((pair.first, pair.names[1]) for pair in draw_pairs(kb, 0.0))
    for _, mention in KNOWN:
        surface = normal_name(mention.surface)
        names = {name for concept_id in mention.concept_ids for name in kb.names_of(kb.resolve(concept_id)[0]).tolist()}
        assert {name for first, name in counts if first == surface} == names
        expected = len(MANY) / len(KNOWN) / len(names)
        assert all(0.6 * expected < counts[surface, name] < 1.4 * expected for name in names)


def test_similar_is_the_probability_of_the_closest_name(kb: KnowledgeBase) -> None:
    best = targets_of([DOC_MENTIONS[0]], kb)[0][0]
    found = [pair.names[1] == best for pair in draw_pairs(kb, 0.6) if pair.first == "heart attacks"]
    assert 0.64 < sum(found) / len(found) < 0.76  # expected 0.7: 0.6, plus a random hit (1 of 4) in the other 0.4


def test_pair_has_a_concept_of_both_strings(kb: KnowledgeBase) -> None:
    for pair in draw_pairs(kb, 0.5):
        assert kb.names[pair.names[1]] == pair.second
        assert pair.concept in kb.name_concepts[pair.names[1]].tolist()
        (mention,) = (mention for _, mention in KNOWN if normal_name(mention.surface) == pair.first)
        meant = {kb.resolve(concept_id)[0] for concept_id in mention.concept_ids}
        assert {pair.concept, *pair.also} == meant
        assert pair.concept not in pair.also


def test_equal_strings_have_equal_ids(kb: KnowledgeBase) -> None:
    ids = {pair.first: pair.names[0] for pair in draw_pairs(kb, 0.5)}
    assert ids["fever"] == kb.find("fever")
    assert ids["mi"] == kb.find("mi")
    unknown = [ids[surface] for surface in ("heart attacks", "fevers", "hypertensive infarction")]
    assert min(unknown) >= len(kb.names)
    assert len(set(unknown)) == 3


def test_surface_of_two_concepts_is_not_its_own_negative(kb: KnowledgeBase) -> None:
    mentions = [doc_mention("attack of something", HEART), doc_mention("Attack of something", FEVER)]
    batch = MentionPairs(mentions, kb, count=2).__getitems__([0, 1])
    same = same_of(batch, kb)
    assert len(set(labels_of(batch).tolist())) == 2
    assert same[0, 1]
    assert same.sum() == 2


def test_pairs_are_determined_by_seed(kb: KnowledgeBase) -> None:
    assert draw_pairs(kb, 0.5) == draw_pairs(kb, 0.5)
    assert draw_pairs(kb, 0.5) != draw_pairs(kb, 0.5, seed=4)


@given(indices=st.lists(st.integers(0, 5000), max_size=9))
def test_pair_does_not_depend_on_its_batch(kb: KnowledgeBase, indices: list[int]) -> None:
    pairs = MentionPairs(DOC_MENTIONS, kb, count=9, similar=0.0)
    assert pairs.__getitems__(indices) == [pairs.__getitems__([number])[0] for number in indices]


def test_similar_0_computes_no_similarities(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.train.samples.mentions.open_similarity", None)
    assert MentionPairs(DOC_MENTIONS, kb, count=9, similar=0.0).epoch == 5


def test_rejects_invalid_probability_and_unlinkable_mentions(kb: KnowledgeBase) -> None:
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ConfigError) as refused:
            MentionPairs(DOC_MENTIONS, kb, count=9, similar=wrong)
        assert refused.value.code == "config-invalid"
    with pytest.raises(InputError) as empty:
        MentionPairs([DOC_MENTIONS[2]], kb, count=9)
    assert empty.value.code == "training-empty"


def test_leaves_out_mentions_with_empty_normalised_surface(kb: KnowledgeBase) -> None:
    """The samples skip the same mentions as linkers do."""
    pairs = MentionPairs([doc_mention("+-", FEVER), doc_mention("fevers", FEVER)], kb, count=9)
    assert (pairs.epoch, pairs.unlinkable) == (1, 1)
    assert {pair.first for pair in pairs.__getitems__(range(9))} == {"fevers"}
