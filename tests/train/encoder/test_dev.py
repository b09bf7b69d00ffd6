"""The score on dev: what `onym evaluate` would say of the linker with the model as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from onym.datasets import PreparedDataset
from onym.evaluate.evaluation import evaluate
from onym.evaluate.run import predict
from onym.evaluate.task import EvaluationTask
from onym.kb import KnowledgeBase
from onym.linkers.dense import DenseLinker
from onym.models import torch_loading as loading
from onym.models.settings import EncoderSettings
from onym.models.tokens import Tokenizer
from onym.testing.tiny_encoder import tiny_encoder
from onym.train.dev import dev_documents
from onym.train.encoder.dev import EncoderDev
from onym.types import Document, Mention
from tests.train.tiny import require_left_alone

SETTINGS = EncoderSettings(pooling="mean", similarity="cosine")


@pytest.fixture(scope="module")
def kb(kb_folder: Path) -> KnowledgeBase:
    return KnowledgeBase.open(kb_folder)


@pytest.fixture(autouse=True)
def _in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "resolve_precision", lambda *_: "fp32")


def test_it_is_the_recall_of_the_linker(encoder: Path, kb_folder: Path, corpus: Path, tmp_path: Path) -> None:
    dataset = PreparedDataset.open(corpus)
    own = shutil.copytree(kb_folder, tmp_path / "kb", ignore=shutil.ignore_patterns("indexes", "vectors"))
    kb = KnowledgeBase.open(own)  # beside the other there may be vectors that were made in another precision
    dev = EncoderDev(dev_documents(dataset.documents("train"), 0), kb, Tokenizer.open(encoder), SETTINGS)
    linker = DenseLinker.from_pretrained(encoder, kb, encoder=SETTINGS, dtype="fp32")
    task = EvaluationTask(dataset, "train", kb)
    wanted = evaluate(task, predict(task, linker), protocol="any-id").scores["any-id"].recall
    found = dev(tiny_encoder())
    assert len(dev) == 12
    assert found == pytest.approx({"dev_r1": 100 * wanted[1], "dev_r5": 100 * wanted[5]})
    assert 0 < found["dev_r1"] < 100


def test_the_model_is_left_as_it_was(encoder: Path, kb: KnowledgeBase, corpus: Path) -> None:
    dev = EncoderDev(dev_documents(PreparedDataset.open(corpus).documents("dev"), 2), kb, Tokenizer.open(encoder), SETTINGS)
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
