"""The score on dev is what the generative linker answers, and scoring leaves a model as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from onym.datasets import PreparedDataset
from onym.decoding.search import SearchConfig
from onym.kb import KnowledgeBase
from onym.linkers.generative import GenerativeLinker
from onym.models import torch_loading as loading
from onym.testing.tiny_seq2seq import tiny_bart
from onym.train.generative.config import GenerativeDevConfig
from onym.train.generative.dev import GenerativeDev, linker_of
from onym.train.samples.mentions import mentions_of
from onym.train.samples.targets import DocMention
from onym.types import Document, Mention
from tests.train.tiny import layout, require_left_alone


@pytest.fixture(scope="module")
def kb(kb_folder: Path) -> KnowledgeBase:
    return KnowledgeBase.open(kb_folder)


@pytest.fixture(scope="module")
def mentions(corpus: Path) -> list[DocMention]:
    return [mention for split in ("train", "dev") for mention in mentions_of(PreparedDataset.open(corpus).documents(split))]


@pytest.fixture(autouse=True)
def _in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "resolve_precision", lambda *_: "fp32")


@pytest.mark.slow
@pytest.mark.parametrize("search", ["beam", "exact"])
@pytest.mark.parametrize("ranking", ["mean", "sum"])
def test_it_is_the_recall_of_the_linker(
    model: Path, kb: KnowledgeBase, mentions: list[DocMention], search: str, ranking: str
) -> None:
    dev = GenerativeDev(mentions, kb, layout(model), GenerativeDevConfig.model_validate({"search": search, "ranking": ranking}))
    linker = GenerativeLinker.from_pretrained(model, kb, window=32, search=search, ranking=ranking, width=5)
    first, any_of_five = 0, 0
    for doc, mention in mentions:
        (linked,) = linker.link([Document(doc.id, doc.text, (mention,))], top_k=99)
        best = [c.score for c in linked.links[0].candidates]
        gold = set(mention.concept_ids)
        right = [c.score for c in linked.links[0].candidates if c.concept_id in gold]
        first += bool(right) and max(right) == max(best)
        any_of_five += bool(right)
    assert len(dev) == len(mentions) == 16
    found = dev(tiny_bart())
    assert found == pytest.approx({"dev_r1": 100 * first / 16, "dev_r5": 100 * any_of_five / 16})
    assert 0 < found["dev_r1"] < found["dev_r5"]


def test_the_model_is_left_as_it_was(model: Path, kb: KnowledgeBase, mentions: list[DocMention]) -> None:
    require_left_alone(GenerativeDev(mentions[:4], kb, layout(model), GenerativeDevConfig()), tiny_bart(dropout=0.5).train())


def test_a_mention_of_an_unknown_concept_is_never_right(model: Path, kb: KnowledgeBase) -> None:
    doc = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D000000",)),))
    assert GenerativeDev([(doc, doc.mentions[0])], kb, layout(model), GenerativeDevConfig())(tiny_bart()) == {
        "dev_r1": 0.0,
        "dev_r5": 0.0,
    }
    assert GenerativeDev([], kb, layout(model), GenerativeDevConfig())(tiny_bart()) == {"dev_r1": 0.0, "dev_r5": 0.0}


def test_the_linker_answers_as_the_model_is_at_this_moment(model: Path, kb: KnowledgeBase, mentions: list[DocMention]) -> None:
    trained = tiny_bart()
    linker = linker_of(trained, kb, layout(model), SearchConfig())
    before = linker.decode_mentions(mentions[:2])
    with torch.no_grad():
        for weights in trained.parameters():
            weights.zero_()
    assert linker.decode_mentions(mentions[:2]) == before
    assert linker_of(trained, kb, layout(model), SearchConfig()).decode_mentions(mentions[:2]) != before
