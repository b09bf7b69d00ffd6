"""Samples of a corpus: each mention with each of its names, once in an epoch, as the layout has them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from onym.datasets import PreparedDataset
from onym.kb import KnowledgeBase
from onym.train.samples.base import Sample
from onym.train.samples.mentions import MentionSamples, mentions_of
from onym.train.samples.targets import DocMention, targets_of
from onym.types import Document, Mention
from tests.train.tiny import layout


@pytest.fixture(scope="module")
def kb(kb_folder: Path) -> KnowledgeBase:
    return KnowledgeBase.open(kb_folder)


@pytest.fixture(scope="module")
def mentions(corpus: Path) -> list[DocMention]:
    return mentions_of(PreparedDataset.open(corpus).documents("train"))


def made(mentions: list[DocMention], kb: KnowledgeBase, model: Path, count: int = 36, **more: object) -> MentionSamples:
    return MentionSamples(mentions, kb, layout(model), count=count, **more)  # type: ignore[arg-type]


def key(sample: Sample) -> str:
    return repr((sample.source, sample.prompt, sample.name))


def test_an_epoch_holds_each_mention_once(mentions: list[DocMention], kb: KnowledgeBase, model: Path) -> None:
    samples = made(mentions, kb, model)
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


def test_several_names_of_a_mention_are_samples_of_their_own(
    mentions: list[DocMention], kb: KnowledgeBase, model: Path
) -> None:
    samples = made(mentions, kb, model, names=3)
    assert samples.epoch == sum(map(len, targets_of(mentions, kb, count=3))) == 36
    found = samples.__getitems__(range(36))
    assert len(set(map(key, found))) == 36


def test_any_name_in_turn(mentions: list[DocMention], kb: KnowledgeBase, model: Path) -> None:
    samples = made(mentions, kb, model, count=12 * 30, choice="sampled")
    assert samples.epoch == 12
    written: dict[str, set[str]] = {}
    for sample in samples.__getitems__(range(12 * 30)):
        written.setdefault(repr(sample.source), set()).add(repr(sample.name))
    assert sorted(map(len, written.values())) == sorted(map(len, targets_of(mentions, kb, choice="sampled")))
    assert samples.__getitems__([7]) == made(mentions, kb, model, count=12 * 30, choice="sampled").__getitems__([7])


def test_a_position_and_a_seed_give_the_same_sample_in_any_batch(
    mentions: list[DocMention], kb: KnowledgeBase, model: Path
) -> None:
    samples = made(mentions, kb, model, seed=3)
    whole = samples.__getitems__(range(36))
    assert [samples.__getitems__([index])[0] for index in range(35, -1, -1)] == whole[::-1]
    assert made(mentions, kb, model, seed=4).__getitems__(range(36)) != whole


def test_mentions_of_unknown_concepts_are_left_out(kb: KnowledgeBase, model: Path) -> None:
    doc = Document("1", "fever or woe", (Mention(0, 5, "fever", ("mesh:D005334",)), Mention(9, 12, "woe", ("mesh:D000000",))))
    samples = made([(doc, mention) for mention in doc.mentions], kb, model, count=4)
    assert (samples.unlinkable, samples.epoch) == (1, 1)
    assert {key(each) for each in samples.__getitems__(range(4))} == {key(samples.__getitems__([0])[0])}


def test_mentions_without_an_id_and_those_that_stand_elsewhere_too() -> None:
    fever, cough, none = Mention(0, 5, "fever", ("mesh:D1",)), Mention(6, 11, "cough", ("mesh:D2",)), Mention(12, 15, "bad")
    doc = Document("1", "fever cough bad", (fever, cough, none))
    dev = Document("1", "fever cough bad", (cough,))
    assert mentions_of([doc]) == [(doc, fever), (doc, cough)]
    assert mentions_of([doc], exclude=[dev]) == [(doc, fever)]
    assert mentions_of([doc], exclude=[Document("2", doc.text, (cough,))]) == [(doc, fever), (doc, cough)]
