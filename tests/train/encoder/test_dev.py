"""The score on dev: what `onym evaluate` would say of the linker with the model as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from onym.datasets import Prepared
from onym.encoders import loading
from onym.encoders.settings import EncoderSettings
from onym.evaluate.evaluation import evaluate
from onym.evaluate.run import predict
from onym.kb import KnowledgeBase
from onym.linkers.dense import DenseLinker
from onym.text.tokens import Tokenizer
from onym.train.encoder.dev import EncoderDev, asked_of, names_among
from onym.types import Document, Mention
from tests.encoders.tiny_encoder import tiny_encoder
from tests.index.made import kb_of, words
from tests.train.tiny import require_left_alone

SETTINGS = EncoderSettings(pooling="mean", similarity="cosine")


@pytest.fixture(scope="module")
def kb(kb_folder: Path) -> KnowledgeBase:
    return KnowledgeBase.open(kb_folder)


@pytest.fixture(autouse=True)
def _in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "resolve_precision", lambda *_: "fp32")


def test_it_is_the_recall_of_the_linker(encoder: Path, kb_folder: Path, corpus: Path, tmp_path: Path) -> None:
    benchmark = Prepared.open(corpus)
    own = shutil.copytree(kb_folder, tmp_path / "kb", ignore=shutil.ignore_patterns("indexes", "vectors"))
    kb = KnowledgeBase.open(own)  # beside the other there may be vectors that were made in another precision
    dev = EncoderDev(asked_of(benchmark.documents("train"), 0), kb, Tokenizer.open(encoder), SETTINGS)
    linker = DenseLinker.from_pretrained(encoder, kb, encoder=SETTINGS, precision="fp32")
    wanted = evaluate(benchmark, "train", predict(benchmark, "train", linker), kb, name="any-id").scores["any-id"].recall
    found = dev(tiny_encoder())
    assert len(dev) == 12
    assert found == pytest.approx({"dev_r1": 100 * wanted[1], "dev_r5": 100 * wanted[5]})
    assert 0 < found["dev_r1"] < 100


def test_the_model_is_left_as_it_was(encoder: Path, kb: KnowledgeBase, corpus: Path) -> None:
    dev = EncoderDev(asked_of(Prepared.open(corpus).documents("dev"), 2), kb, Tokenizer.open(encoder), SETTINGS)
    require_left_alone(dev, tiny_encoder().train())


def test_names_are_encoded_with_the_model_as_it_is(encoder: Path, kb: KnowledgeBase) -> None:
    """With all weights zero, all vectors are the same: the first of all concepts is the nearest."""
    doc = Document("1", "heart attack", (Mention(0, 12, "heart attack", ("mesh:D009203",)),))
    dev = EncoderDev([doc], kb, Tokenizer.open(encoder), SETTINGS)
    model = tiny_encoder()
    assert dev(model)["dev_r1"] == 100
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
    assert kb.concept_ids[0] != "mesh:D009203"
    assert dev(model)["dev_r1"] == 0
    unknown = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D000000",)),))
    assert EncoderDev([unknown], kb, Tokenizer.open(encoder), SETTINGS)(tiny_encoder()) == {"dev_r1": 0.0, "dev_r5": 0.0}
    assert EncoderDev([], kb, Tokenizer.open(encoder), SETTINGS)(tiny_encoder()) == {"dev_r1": 0.0, "dev_r5": 0.0}


def test_mentions_with_an_id_evenly_spread(corpus: Path) -> None:
    documents = list(Prepared.open(corpus).documents("train"))
    bare = Document("x", "fever", (Mention(0, 5, "fever"),))
    every = asked_of([*documents, bare], 0)
    assert [doc.id for doc in every] == [doc.id for doc in documents]
    assert sum(len(doc.mentions) for doc in every) == 12
    some = asked_of(documents, 4)
    places = [(doc.id, mention) for doc in documents for mention in doc.mentions]
    assert [(doc.id, mention) for doc in some for mention in doc.mentions] == places[::3]
    assert all(doc.text == next(each.text for each in documents if each.id == doc.id) for doc in some)


def test_names_that_are_looked_among(tmp_path: Path) -> None:
    kb = kb_of(tmp_path, words(200))
    doc = Document("1", "x", (Mention(0, 1, "x", ("demo:7",)), Mention(0, 1, "x", ("demo:199", "demo:x"))))
    found = names_among([doc], kb, 50)
    assert found is not None
    assert len(found) == len(set(found.tolist())) == 52
    assert {kb.find("name 00007"), kb.find("name 00199")} <= set(found.tolist())
    again = names_among([doc], kb, 50)
    assert again is not None
    assert (found == again).all()
    more = names_among([doc], kb, 100)
    assert more is not None
    assert set(found.tolist()) < set(more.tolist())
    assert names_among([doc], kb, 0) is None
    assert names_among([doc], kb, 198) is None
    some = names_among([], kb, 5)
    assert some is not None
    assert np.diff(some).min() > 0
