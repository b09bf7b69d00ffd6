"""The score on dev of a model that reads documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onym.datasets import PreparedDataset
from onym.evaluate.end_to_end import score_end_to_end
from onym.evaluate.evaluation import evaluate
from onym.evaluate.run import predict
from onym.evaluate.task import EvaluationTask
from onym.index.build import index_in_memory
from onym.kb import KnowledgeBase
from onym.linkers.collective import CollectiveLinker
from onym.models import torch_loading as loading
from onym.models.collective import Collective, CollectiveSettings
from onym.models.tokens import Tokenizer
from onym.train.collective.dev import CollectiveDev, f1, inference_model, spans_by_threshold
from onym.types import Document, Mention
from tests.train.collective.test_module import module
from tests.train.tiny import require_left_alone

OPTIONS: dict[str, Any] = {"window": 32, "overlap": 8, "max_span_tokens": 8, "dim": 16}


@pytest.fixture(autouse=True)
def _in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "resolve_precision", lambda *_: "fp32")


def made(encoder: Path, corpus: Path, kb_folder: Path, detect: Any, **more: Any) -> CollectiveDev:
    tokens = Tokenizer.open(encoder)
    settings = CollectiveSettings(detect=detect, represent="mean", **OPTIONS)
    documents = list(PreparedDataset.open(corpus).documents("train"))
    return CollectiveDev(
        documents, KnowledgeBase.open(kb_folder), lambda each: inference_model(each, tokens, tokens, settings), **more
    )


@pytest.mark.parametrize("detect", ["spans", "tags"])
def test_the_figures_are_those_of_the_pipeline(encoder: Path, corpus: Path, kb_folder: Path, detect: Any) -> None:
    dev = made(encoder, corpus, kb_folder, detect)
    trained = module(detect).float()
    found = dev(trained)
    model = dev.open(trained)
    tried = spans_by_threshold(model, dev.documents)
    best = max(f1(dev._gold_spans(), each) for each in tried.values())
    assert found["dev_spans_f1"] == pytest.approx(best)
    linker = linker_of(dev, model)
    spans = tried[found["dev_threshold"]]
    queries = [
        Document(doc.id, doc.text, tuple(Mention(start, end, doc.text[start:end]) for start, end in own))
        for doc, own in zip(dev.documents, spans, strict=True)
    ]
    predicted = [
        Document(
            each.document.id,
            each.document.text,
            tuple(Mention(m.mention.start, m.mention.end, m.mention.surface, (m.concept_id or "",)) for m in each.links),
        )
        for each in linker.link(queries)
    ]
    assert found["dev_f1"] == pytest.approx(100 * score_end_to_end(dev.documents, predicted).f1)


def test_annotated_mentions_are_judged_as_by_evaluate(encoder: Path, corpus: Path, kb_folder: Path) -> None:
    dev = made(encoder, corpus, kb_folder, "none")
    trained = module("none").float()
    found = dev(trained)
    dataset = PreparedDataset.open(corpus)
    linker = linker_of(dev, dev.open(trained))
    task = EvaluationTask(dataset, "train", dev.kb)
    scores = evaluate(task, predict(task, linker), protocol="any-id").scores["any-id"]
    assert found == pytest.approx(
        {"dev_f1": 100 * scores.recall[1], "dev_r1": 100 * scores.recall[1], "dev_r5": 100 * scores.recall[5]}
    )


def linker_of(dev: CollectiveDev, model: Collective) -> CollectiveLinker:
    assert model.names is not None
    return CollectiveLinker(dev.kb, model, index_in_memory(dev.kb, model.names))


def test_the_model_is_left_as_it_was(encoder: Path, corpus: Path, kb_folder: Path) -> None:
    require_left_alone(made(encoder, corpus, kb_folder, "spans"), module("spans").float().train())
