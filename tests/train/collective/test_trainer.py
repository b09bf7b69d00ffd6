"""Tests of the collective stage: windows, batches, dev evaluation, and whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from onym.datasets import PreparedDataset
from onym.errors import ConfigError
from onym.evaluate.end_to_end import score_end_to_end
from onym.evaluate.evaluation import evaluate
from onym.evaluate.run import predict
from onym.evaluate.task import EvaluationTask
from onym.kb import KnowledgeBase
from onym.methods.collective.linker import CollectiveLinker
from onym.methods.collective.model import Collective
from onym.methods.collective.settings import BEGIN, INSIDE, OUTSIDE, CollectiveSettings
from onym.methods.dense.index.build import index_in_memory
from onym.methods.tagger.detector import detector_of
from onym.models import torch_loading as loading
from onym.models.tokens import Tokenizer
from onym.models.torch_encoder import Encoder
from onym.train.collective import document_model as collective_module
from onym.train.collective import document_model as collective_trainer
from onym.train.collective.document_model import f1, inference_model
from onym.train.collective.trainer import (
    CollectiveContext,
    CollectiveDev,
    TrainingWindow,
    TrainingWindows,
    WindowCollate,
    collective,
    mention_vectors,
    name_vectors,
    spans_by_threshold,
)
from onym.train.dense.pairs import Negatives
from onym.train.run import train
from onym.types import Document, Mention
from tests.models.second_device import DEVICE, second_device
from tests.support.linking import link_with
from tests.train.collective.test_document_model import module
from tests.train.made import DOC, record
from tests.train.tiny import are_equal, collective_config, require_left_alone

WINDOW_TEXT = "Fever came. Then a heart attack, and later on fevers again."
WINDOW_MENTIONS = (
    Mention(0, 5, "Fever", ("mesh:D005334",)),
    Mention(19, 31, "heart attack", ("mesh:D009203",)),
    Mention(46, 52, "fevers", ("mesh:D0",)),
    Mention(53, 58, "again"),
)
WINDOW_DOC = Document("1", WINDOW_TEXT, WINDOW_MENTIONS)
BATCH_TEXT = "Fever came. Then a heart attack, and later on fevers again."
BATCH_MENTIONS = (
    Mention(0, 5, "Fever", ("mesh:D005334",)),
    Mention(19, 31, "heart attack", ("mesh:D009203",)),
    Mention(25, 31, "attack", ("mesh:D009203",)),
    Mention(46, 52, "fevers", ("mesh:D0",)),
)
BATCH_DOC = Document("1", BATCH_TEXT, BATCH_MENTIONS)
PAD = 1
OPTIONS: dict[str, Any] = {"window": 32, "overlap": 8, "max_span_tokens": 8, "dim": 16}
LEARNING = {"steps": 60, "batch_size": 4, "eval_steps": 20, "learning_rate": 5e-3, "epochs": 0.0}


@pytest.fixture
def tokens(encoder: Path) -> Tokenizer:
    return Tokenizer.open(encoder)


def test_windows_have_mentions_entirely_inside(tokens: Tokenizer) -> None:
    windows = TrainingWindows(
        [WINDOW_DOC], [(WINDOW_DOC, WINDOW_MENTIONS[1]), (WINDOW_DOC, WINDOW_MENTIONS[0])], tokens, room=16, overlap=8
    )
    found: dict[str, set[int]] = {}
    for window in windows.__getitems__(range(windows.epoch)):
        for first, last, number in window.spans:
            assert window.window.start <= first < last <= window.window.end
            surface = WINDOW_TEXT[window.tokens.starts[first] : window.tokens.ends[last - 1]]
            found.setdefault(surface, set()).add(number)
    assert found == {"Fever": {1}, "heart attack": {0}, "fevers": {-1}}, "mentions without an id are left out"


def test_windows_do_not_depend_on_mentions(tokens: Tokenizer) -> None:
    bare = Document("1", WINDOW_TEXT)
    one, other = (TrainingWindows([doc], [], tokens, room=12, overlap=4) for doc in (WINDOW_DOC, bare))
    assert [window.window for window in one.__getitems__(range(one.epoch))] == [
        window.window for window in other.__getitems__(range(other.epoch))
    ]
    assert one.epoch > 2


def test_epoch_has_each_window_once(tokens: Tokenizer) -> None:
    docs = [Document(str(number), WINDOW_TEXT * number) for number in range(1, 5)]
    windows = TrainingWindows(docs, [], tokens, room=12, overlap=4, count=7, seed=3)
    seen = [(window.doc.id, window.window.start) for window in windows.__getitems__(range(windows.epoch))]
    assert len(seen) == len(set(seen)) == windows.epoch
    assert len(windows) == 7


def list_windows(tokens: Tokenizer) -> list[TrainingWindow]:
    windows = TrainingWindows(
        [BATCH_DOC, Document("2", "No.")], [(BATCH_DOC, mention) for mention in BATCH_MENTIONS[:2]], tokens, room=18, overlap=8
    )
    return windows.__getitems__(range(windows.epoch))


def surface(windows: list[TrainingWindow], shape: torch.Size, first: int, last: int) -> str:
    row, at = divmod(first, shape[1])
    window = windows[row]
    start = at - 1 + window.window.start
    return window.doc.text[window.tokens.starts[start] : window.tokens.ends[start + last - first - 1]]


def test_collates_mentions_and_all_spans(tokens: Tokenizer) -> None:
    windows = list_windows(tokens)
    batch = WindowCollate(tokens, PAD, "spans", 9)(windows)
    shape = batch["input_ids"].shape
    linked = {
        (surface(windows, shape, first, last), number)
        for first, last, number in zip(*(batch[name].tolist() for name in ("firsts", "lasts", "numbers")), strict=True)
    }
    assert linked == {("Fever", 0), ("heart attack", 1)}
    spans = list(zip(*(batch[name].tolist() for name in ("span_firsts", "span_lasts", "is_mention")), strict=True))
    right = {surface(windows, shape, first, last) for first, last, is_mention in spans if is_mention}
    assert right == {"Fever", "heart attack", "attack", "fevers"}
    assert "came" in {surface(windows, shape, first, last) for first, last, is_mention in spans if not is_mention}
    flat = batch["attention_mask"].flatten()
    assert all(flat[first:last].all() for first, last, _ in spans)


def test_collates_bio_tags(tokens: Tokenizer) -> None:
    windows = list_windows(tokens)
    batch = WindowCollate(tokens, PAD, "tags", 9)(windows)
    assert "span_firsts" not in batch
    tagged: dict[str, set[int]] = {}
    for word, tag in zip(batch["words"].tolist(), batch["tags"].tolist(), strict=True):
        row, at = divmod(word, batch["input_ids"].shape[1])
        start = int(windows[row].tokens.starts[at - 1 + windows[row].window.start])
        tagged.setdefault(windows[row].doc.text[start:].split()[0], set()).add(tag)
    assert tagged["Fever"] == {BEGIN}
    assert INSIDE in tagged["attack,"], "nested mentions get no tags of their own"
    assert tagged["came."] == {OUTSIDE}


def test_collates_without_detection_or_mentions(tokens: Tokenizer) -> None:
    batch = WindowCollate(tokens, PAD, "none", 9)(list_windows(tokens))
    assert set(batch) == {"input_ids", "attention_mask", "firsts", "lasts", "numbers"}
    empty = WindowCollate(tokens, PAD, "spans", 9)([window for window in list_windows(tokens) if window.doc.id == "2"])
    assert len(empty["firsts"]) == 0
    assert not empty["is_mention"].any()


@pytest.fixture
def context(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> CollectiveContext:
    return CollectiveContext(collective_config(encoder, corpus, kb_folder, dev={"mentions": 2, "names": 1}), tmp_path)


def test_context_has_all_model_files(context: CollectiveContext) -> None:
    context.tuned["threshold"] = 0.35
    files = context.files
    assert set(files) == {
        "tokenizer.json",
        "collective.json",
        "heads.safetensors",
        "names/tokenizer.json",
        "names/encoder.json",
    }
    settings = CollectiveSettings.model_validate_json(files["collective.json"])
    assert (settings.threshold, settings.detect, settings.window, settings.dim, settings.links) == (0.35, "spans", 24, 16, True)


def test_linkable_mentions_have_concepts_in_kb(context: CollectiveContext) -> None:
    assert len(context.linkable) == len(context.queries) == 12
    for (_, mention), queries in zip(context.linkable, context.queries, strict=True):
        concepts = [context.kb.concept_ids[concept] for concept in queries.concepts]
        assert set(mention.concept_ids) <= set(concepts)


def test_dev_has_about_the_configured_number_of_mentions(context: CollectiveContext) -> None:
    assert context.dev is not None
    assert sum(len(doc.mentions) for doc in context.dev.documents) == 2
    assert context.dev.names is not None


def test_names_can_have_a_separate_encoder(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    config = collective_config(encoder, corpus, kb_folder, start={"names": str(encoder), "freeze_names": True})
    context = CollectiveContext(config, tmp_path)
    assert context.model.names is not context.model.body
    assert not any(each.requires_grad for each in context.model.names.parameters())
    assert context.dev is None


@pytest.fixture
def in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "resolve_precision", lambda *_: "fp32")


def make_dev(encoder: Path, corpus: Path, kb_folder: Path, detect: Any, **more: Any) -> CollectiveDev:
    tokens = Tokenizer.open(encoder)
    settings = CollectiveSettings(detect=detect, represent="mean", **OPTIONS)
    documents = list(PreparedDataset.open(corpus).documents("train"))
    return CollectiveDev(
        documents, KnowledgeBase.open(kb_folder), lambda each: inference_model(each, tokens, tokens, settings), **more
    )


@pytest.mark.usefixtures("in_fp32")
@pytest.mark.parametrize("detect", ["spans", "tags"])
def test_dev_scores_match_the_pipeline(encoder: Path, corpus: Path, kb_folder: Path, detect: Any) -> None:
    dev = make_dev(encoder, corpus, kb_folder, detect)
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
        for each in link_with(linker, queries)
    ]
    assert found["dev_f1"] == pytest.approx(100 * score_end_to_end(dev.documents, predicted).f1)


@pytest.mark.usefixtures("in_fp32")
def test_dev_recall_matches_evaluate(encoder: Path, corpus: Path, kb_folder: Path) -> None:
    dev = make_dev(encoder, corpus, kb_folder, "none")
    trained = module("none").float()
    found = dev(trained)
    dataset = PreparedDataset.open(corpus)
    linker = linker_of(dev, dev.open(trained))
    task = EvaluationTask(dataset, "train", dev.kb)
    scores = evaluate(task, predict(task, linker, bare=True), protocol="any-id").scores["any-id"]
    assert found == pytest.approx(
        {"dev_f1": 100 * scores.recall[1], "dev_r1": 100 * scores.recall[1], "dev_r5": 100 * scores.recall[5]}
    )


def linker_of(dev: CollectiveDev, model: Collective) -> CollectiveLinker:
    assert model.names is not None
    return CollectiveLinker(dev.kb, model, index_in_memory(dev.kb, model.names))


@pytest.mark.usefixtures("in_fp32")
def test_dev_does_not_change_the_model(encoder: Path, corpus: Path, kb_folder: Path) -> None:
    require_left_alone(make_dev(encoder, corpus, kb_folder, "spans"), module("spans").float().train())


def scores(folder: Path, name: str) -> list[float]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line[f"eval_{name}"] for line in lines if f"eval_{name}" in line]


@pytest.mark.slow
@pytest.mark.parametrize("detect", ["spans", "tags"])
def test_learns_to_detect_and_link(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, detect: str) -> None:
    config = collective_config(
        encoder, corpus, kb_folder, start={"detect": detect}, optim=LEARNING, dev={"mentions": 99, "split": "train", "names": 0}
    )
    made = train(config, tmp_path / "made")
    for name in ("dev_f1", "dev_spans_f1", "dev_r1"):
        found = scores(made, name)
        assert max(found) > found[0] + 10, name
    assert record(made)["stages"] == ["collective"]
    model = Collective.open(made)
    assert model.settings.threshold == record(made)["metrics"]["dev_threshold"]
    linker = CollectiveLinker.of(model, KnowledgeBase.open(kb_folder))
    (linked,) = link_with(linker, [DOC])
    assert all(link.candidates for link in linked.links)
    (seen,) = detector_of(model).detect([DOC])
    assert seen.document.mentions


@pytest.mark.slow
def test_frozen_names_are_encoded_once(
    tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = {"freeze_names": True, "detect": "spans"}
    config = collective_config(
        encoder, corpus, kb_folder, start=start, optim=LEARNING, dev={"mentions": 99, "split": "train", "names": 0}
    )
    monkeypatch.setattr(collective_module, "vectors_of", None)
    made = train(config, tmp_path / "made")
    found = scores(made, "dev_r1")
    assert max(found) > found[0] + 10
    assert Encoder.open(made / "names").digest == Encoder.open(encoder).digest


@pytest.mark.slow
def test_pure_detector_has_no_name_encoder(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    made = train(collective_config(encoder, corpus, kb_folder, loss={"link": 0.0}), tmp_path / "made")
    assert not (made / "names").exists()
    assert not Collective.open(made).settings.links


@pytest.mark.slow
def test_resumed_training_equals_uninterrupted(
    tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = collective_config(encoder, corpus, kb_folder, optim={"steps": 6, "batch_size": 3, "eval_steps": 2})
    whole = train(config, tmp_path / "whole")
    own = collective_trainer.CollectiveTrainer.batch_loss

    def stop_at_step(self: Any, model: Any, inputs: Any) -> Any:
        if self.state.global_step == 4:
            raise KeyboardInterrupt
        return own(self, model, inputs)

    with monkeypatch.context() as patch:
        patch.setattr(collective_trainer.CollectiveTrainer, "batch_loss", stop_at_step)
        with pytest.raises(KeyboardInterrupt):
            train(config, tmp_path / "parts")
    parts = train(config, tmp_path / "parts")
    for name in ("model.safetensors", "heads.safetensors", "names/model.safetensors"):
        assert are_equal(load_file(whole / name), load_file(parts / name)), name


@pytest.mark.slow
def test_mines_before_each_epoch_except_the_first(
    tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = collective_config(encoder, corpus, kb_folder, optim={"steps": 9, "batch_size": 2, "eval_steps": 9})
    context = CollectiveContext(config, tmp_path / "work")
    mined: list[int] = []
    own = Negatives.mine

    def mine(self: Negatives, mentions: Any, vectors: Any) -> None:
        mined.append(len(mentions))
        own(self, mentions, vectors)

    monkeypatch.setattr(Negatives, "mine", mine)
    trainer = collective(context)
    epoch = trainer.train_dataset.epoch // 2
    assert len(mined) == (9 - 1) // epoch > 0
    assert set(mined) == {len(context.linkable)}
    assert np.load(tmp_path / "work" / "pools.npy").shape == (len(context.linkable), 8)


def test_embeds_all_linkable_mentions(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    context = CollectiveContext(collective_config(encoder, corpus, kb_folder), tmp_path)
    vectors = mention_vectors(context, context.model)
    assert vectors.shape == (len(context.linkable), 16)
    assert (np.linalg.norm(vectors, axis=1) > 0).all()


@pytest.mark.usefixtures("in_fp32")
def test_mines_and_evaluates_on_another_device(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    """Inference on a copy of the module on another device must return CPU arrays; otherwise mining fails on a GPU."""
    config = collective_config(encoder, corpus, kb_folder, dev={"mentions": 99, "split": "train", "names": 0})
    context = CollectiveContext(config, tmp_path)
    names = np.arange(len(context.kb.names))
    model = context.model
    dev = context.dev
    assert dev is not None
    wanted = mention_vectors(context, model), name_vectors(context, model, names), dev(model)
    with second_device() as device:
        model.to(device)
        assert {each.device for each in model.parameters()} == {DEVICE}
        found = mention_vectors(context, model), name_vectors(context, model, names), dev(model)
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-5)
    np.testing.assert_allclose(found[1], wanted[1], atol=1e-5)
    assert found[2] == pytest.approx(wanted[2])


@pytest.mark.slow
def test_computes_loss_on_another_device(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    """Names are sampled and tokenised on the CPU, then moved to the device of the batch."""
    context = CollectiveContext(collective_config(encoder, corpus, kb_folder), tmp_path)
    trainer = collective(context)
    batch = trainer.data_collator(trainer.train_dataset.__getitems__([0, 1]))
    with torch.no_grad():
        wanted = float(trainer.batch_loss(context.model, batch))
        with second_device() as device:
            context.model.to(device)
            moved = {name: value.to(device) for name, value in batch.items()}
            assert float(trainer.batch_loss(context.model, moved).cpu()) == pytest.approx(wanted, rel=1e-4)


def test_rejects_configuration_without_dataset_or_task(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    with pytest.raises(ConfigError, match="no dataset given"):
        train(collective_config(encoder, None, kb_folder), tmp_path / "one")
    config = collective_config(encoder, corpus, kb_folder, start={"detect": "none"}, loss={"link": 0.0})
    with pytest.raises(ConfigError, match="neither detect nor link"):
        train(config, tmp_path / "two")
