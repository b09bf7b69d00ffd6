"""Tests of training encoders: batches, loss, dev evaluation, and the stages `align` and `match`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from onym.datasets import PreparedDataset
from onym.errors import ConfigError, InputError
from onym.evaluate.evaluation import evaluate
from onym.evaluate.run import predict
from onym.evaluate.task import EvaluationTask
from onym.kb import KnowledgeBase
from onym.methods.dense.linker import DenseLinker
from onym.models import torch_loading as loading
from onym.models.encoder import TokenBatch
from onym.models.settings import EncoderSettings
from onym.models.tokens import Tokenizer
from onym.models.torch_encoder import Encoder
from onym.train.configs import EncoderLossConfig, EncoderOptimConfig, EncoderTrainingConfig
from onym.train.context import dev_documents
from onym.train.dense import trainer as align_module
from onym.train.dense import trainer as match_module
from onym.train.dense import trainer as module
from onym.train.dense.pairs import PositivePairs, labels_of, same_of
from onym.train.dense.trainer import AlignTrainer, EncoderContext, EncoderDev, PairCollate
from onym.train.run import train
from onym.train.samples.base import Batch, Positive
from onym.types import Document, Mention
from tests.methods.dense.index.made import kb_of, words
from tests.support.linking import link_with
from tests.support.models import save_model, tiny_encoder
from tests.train.adamw import AdamWByHand
from tests.train.made import DOC, record
from tests.train.tiny import are_equal, encoder_config, encoder_optim, furthest, losses, require_left_alone, weights_of

LOSS = EncoderLossConfig(margin=0.3, alpha=2.0, beta=10.0, base=0.4)
POOLINGS = [EncoderSettings(), EncoderSettings(pooling="mean", similarity="cosine"), EncoderSettings(pooling="mean-all")]
SETTINGS = EncoderSettings(pooling="mean", similarity="cosine")
FILES = {"README.md", "config.json", "encoder.json", "log.jsonl", "model.safetensors", "tokenizer.json", "training.json"}
LEARNING = {"steps": 60, "batch_size": 8, "eval_steps": 20, "learning_rate": 3e-3}


def test_tokenises_rows_as_the_encoder(encoder: Path, kb_folder: Path) -> None:
    kb = KnowledgeBase.open(kb_folder)
    model = Encoder.open(encoder, EncoderSettings(length=9), "fp32")
    pairs = PositivePairs(kb, count=9).__getitems__(range(9))
    batch = PairCollate(model.reading, kb)(pairs)
    texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    ids, mask = model.reading.rows(model.reading.tokenizer.ids_of(texts), np.arange(18))
    assert batch["input_ids"].tolist() == ids.tolist()
    assert batch["attention_mask"].tolist() == mask.tolist()
    assert batch["labels"].tolist() == labels_of(pairs).tolist()
    assert (batch["same"].numpy() == same_of(pairs, kb)).all()
    assert batch["same"].any()
    assert {name: each.dtype for name, each in batch.items()} == {
        "input_ids": torch.int64, "attention_mask": torch.int64, "labels": torch.int64, "same": torch.bool,
    }  # fmt: skip


def test_context_uses_the_configuration(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    config = encoder_config(
        "match", encoder, corpus, kb_folder,
        start={"dropout": 0.25, "length": 12}, dev={"mentions": 3}, optim={"steps": 7, "batch_size": 3},
    )  # fmt: skip
    context = EncoderContext(config, tmp_path)
    assert {each.p for each in context.model.modules() if isinstance(each, torch.nn.Dropout)} == {0.25}
    assert context.model.config.hidden_dropout_prob == context.model.config.attention_probs_dropout_prob == 0.25
    assert context.model.training
    assert all(parameter.requires_grad for parameter in context.model.parameters())
    assert context.settings == EncoderSettings(pooling="mean", similarity="cosine", length=12)
    assert context.dev is not None
    assert len(context.dev) == 3
    assert context.total_samples == 21
    assert EncoderSettings.model_validate_json(context.files["encoder.json"]) == context.settings
    assert context.files["tokenizer.json"] == (encoder / "tokenizer.json").read_bytes()


def test_settings_default_to_those_of_the_folder(tmp_path: Path, encoder: Path, kb_folder: Path) -> None:
    own = shutil.copytree(encoder, tmp_path / "own")
    kept = EncoderSettings(pooling="mean", similarity="cosine", length=500)
    (own / EncoderSettings.FILE).write_bytes(kept.to_bytes())
    none = {"pooling": None, "similarity": None}
    context = EncoderContext(encoder_config("align", own, None, kb_folder, start=none), tmp_path)
    assert context.settings == kept.update(length=64), "no more than the model can read"
    assert context.dev is None


def test_freezes_embeddings(tmp_path: Path, encoder: Path, kb_folder: Path) -> None:
    config = encoder_config("align", encoder, None, kb_folder, start={"freeze_embeddings": True})
    still = {name for name, each in EncoderContext(config, tmp_path).model.named_parameters() if not each.requires_grad}
    assert still == {"embeddings.word_embeddings.weight"}


def test_rejects_model_that_is_not_an_encoder(tmp_path: Path, kb_folder: Path) -> None:
    bart = save_model(tmp_path / "bart")
    with pytest.raises(ConfigError, match="model-family"):
        _ = EncoderContext(encoder_config("align", bart, None, kb_folder), tmp_path).model


def bare(dtype: torch.dtype = torch.float32, dropout: float = 0.0) -> Any:
    """Return the tiny encoder without its pooler, in training mode."""
    model = tiny_encoder().to(dtype)
    model.pooler = None
    for each in model.modules():
        if isinstance(each, torch.nn.Dropout):
            each.p = dropout
    return model.train()


@pytest.fixture(scope="module")
def kb(kb_folder: Path) -> KnowledgeBase:
    return KnowledgeBase.open(kb_folder)


@pytest.fixture(scope="module")
def tokens(encoder: Path) -> Tokenizer:
    return Tokenizer.open(encoder)


def trainer_of(
    model: Any, kb: KnowledgeBase, tokens: Tokenizer, folder: Path, optim: EncoderOptimConfig, collate: Any = None, **more: Any
) -> AlignTrainer:
    settings = more.pop("settings", POOLINGS[1])
    own = PairCollate(TokenBatch(tokens, settings, pad=1), kb)
    pairs = PositivePairs(kb, count=optim.steps * optim.batch_size * optim.gradient_accumulation, seed=optim.seed)
    return AlignTrainer(model, pairs, collate or own, folder, optim, settings=settings, loss=LOSS, **more)


# One training step, computed step by step without the trainer.
def loss_by_hand(model: Any, kb: KnowledgeBase, tokens: Tokenizer, pairs: Sequence[Positive], dtype: torch.dtype) -> Tensor:
    """Return the loss with each string encoded separately, and all triplets enumerated."""
    rows = [(each.first, each.names[0], each.concept) for each in pairs]
    rows += [(each.second, each.names[1], each.concept) for each in pairs]
    vectors = [model(torch.tensor([[0, *tokens.ids(text)[:23], 2]])).last_hidden_state[0].mean(0) for text, _, _ in rows]
    unit = torch.stack([vector / vector.norm() for vector in vectors])
    means = [{concept, *kb.name_concepts[name].tolist()} for _, name, concept in rows]
    total = torch.zeros((), dtype=dtype)
    for a in range(len(rows)):
        positives = [p for p in range(len(rows)) if p != a and rows[p][2] == rows[a][2]]
        negatives = [n for n in range(len(rows)) if not means[n] & means[a]]
        far = [float((unit[a] - unit[row]).detach().norm()) for row in range(len(rows))]
        hard = {(p, n) for p in positives for n in negatives if far[n] - far[p] <= LOSS.margin}
        near = [torch.exp(-LOSS.alpha * (unit[a] @ unit[p] - LOSS.base)) for p in sorted({p for p, _ in hard})]
        away = [torch.exp(LOSS.beta * (unit[a] @ unit[n] - LOSS.base)) for n in sorted({n for _, n in hard})]
        for found, scale in ((near, LOSS.alpha), (away, LOSS.beta)):
            total = total + torch.log(1 + sum(found, torch.zeros(()))) / scale
    return total / len(rows)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "epsilon", "tolerance"), [(torch.float64, 1e-8, 1e-6), (torch.float32, 1e-3, 1e-4)])
def test_steps_match_manual_computation(
    tmp_path: Path, kb: KnowledgeBase, tokens: Tokenizer, dtype: torch.dtype, epsilon: float, tolerance: float
) -> None:
    settings = encoder_optim(
        steps=3,
        eval_steps=3,
        batch_size=3,
        gradient_accumulation=2,
        weight_decay=0.5,
        epsilon=epsilon,
        max_grad_norm=0.5,
        schedule="linear",
        warmup_steps=1,
    )
    model, expected = bare(dtype), bare(dtype)
    trainer = trainer_of(model, kb, tokens, tmp_path, settings)
    trainer.resume()
    before, by_hand, losses = weights_of(expected), AdamWByHand(settings), []
    pairs = PositivePairs(kb, count=18).__getitems__(range(18))
    for step, rate in enumerate((0.0, 1e-2, 1e-2 / 2)):
        expected.zero_grad()
        parts = [pairs[step * 6 : step * 6 + 3], pairs[step * 6 + 3 : step * 6 + 6]]
        loss = sum((loss_by_hand(expected, kb, tokens, part, dtype) for part in parts), torch.zeros(())) / 2
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(loss.item())
        by_hand.step(expected, rate)
    assert furthest(weights_of(model), weights_of(expected)) < tolerance
    assert furthest(before, weights_of(expected)) > 1e-2
    logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert logged == pytest.approx(losses, abs=1e-4)
    assert min(losses) > 0


# Tests of the vectors that are computed during training.
@pytest.mark.parametrize("settings", POOLINGS)
@pytest.mark.parametrize("budget", [1, 20, 100_000])
def test_training_vectors_match_the_encoder(
    tmp_path: Path,
    kb: KnowledgeBase,
    tokens: Tokenizer,
    settings: EncoderSettings,
    budget: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_BUDGET", budget)
    model = bare()
    trainer = trainer_of(model, kb, tokens, tmp_path, encoder_optim(), settings=settings)
    pairs = PositivePairs(kb, count=9).__getitems__(range(9))
    batch = PairCollate(TokenBatch(tokens, settings, pad=1), kb)(pairs)
    found = trainer.vectors(trainer.model, batch["input_ids"], batch["attention_mask"])
    texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    np.testing.assert_allclose(found.detach().numpy(), Encoder(bare(), tokens, settings).encode(texts), atol=1e-5)
    assert found.requires_grad


def test_loss_is_summed_over_rows(tmp_path: Path, kb: KnowledgeBase, tokens: Tokenizer) -> None:
    trainer = trainer_of(bare(), kb, tokens, tmp_path, encoder_optim())
    pairs = PositivePairs(kb, count=9).__getitems__(range(5))
    batch = PairCollate(TokenBatch(tokens, POOLINGS[1], pad=1), kb)(pairs)
    expected = loss_by_hand(bare(), kb, tokens, pairs, torch.float32) * 10
    assert trainer.items(batch) == 10
    assert trainer.batch_loss(trainer.model, batch).item() == pytest.approx(expected.item(), rel=1e-4)


# Resuming.
class Counted:
    """Collate function that raises at batch number `stop`."""

    def __init__(self, collate: Any, stop: int) -> None:
        self.collate, self.stop, self.made = collate, stop, 0

    def __call__(self, pairs: Sequence[Positive]) -> Batch:
        if self.made == self.stop:
            raise RuntimeError("stopped")
        self.made += 1
        batch: Batch = self.collate(pairs)
        return batch


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16", "bf16-weights"])
def test_resumed_training_equals_uninterrupted(tmp_path: Path, kb: KnowledgeBase, tokens: Tokenizer, precision: str) -> None:
    settings = encoder_optim(steps=6, eval_steps=2, batch_size=3, precision=precision, schedule="linear", warmup_steps=2)
    whole, parts = bare(dropout=0.3), bare(dropout=0.3)
    trainer_of(whole, kb, tokens, tmp_path / "whole", settings).resume()
    stopping = Counted(PairCollate(TokenBatch(tokens, POOLINGS[1], pad=1), kb), stop=5)
    with pytest.raises(RuntimeError, match="stopped"):
        trainer_of(bare(dropout=0.3), kb, tokens, tmp_path / "parts", settings, stopping).resume()
    torch.manual_seed(99)
    trainer_of(parts, kb, tokens, tmp_path / "parts", settings).resume()
    assert are_equal(weights_of(parts), weights_of(whole))
    assert furthest(weights_of(whole), weights_of(bare())) > 1e-3


@pytest.fixture
def in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "resolve_precision", lambda *_: "fp32")


@pytest.mark.slow
@pytest.mark.usefixtures("in_fp32")
def test_dev_equals_linker_recall(encoder: Path, kb_folder: Path, corpus: Path, tmp_path: Path) -> None:
    dataset = PreparedDataset.open(corpus)
    own = shutil.copytree(kb_folder, tmp_path / "kb", ignore=shutil.ignore_patterns("indexes", "vectors"))
    kb = KnowledgeBase.open(own)  # a copy, because the shared one may have cached vectors in another precision
    dev = EncoderDev(dev_documents(dataset.documents("train"), 0), kb, Tokenizer.open(encoder), SETTINGS)
    linker = DenseLinker.from_pretrained(encoder, kb, encoder=SETTINGS, dtype="fp32")
    task = EvaluationTask(dataset, "train", kb)
    wanted = evaluate(task, predict(task, linker, bare=True), protocol="any-id").scores["any-id"].recall
    found = dev(tiny_encoder())
    assert len(dev) == 12
    assert found == pytest.approx({"dev_r1": 100 * wanted[1], "dev_r5": 100 * wanted[5]})
    assert 0 < found["dev_r1"] < 100


@pytest.mark.usefixtures("in_fp32")
def test_dev_does_not_change_the_model(encoder: Path, kb: KnowledgeBase, corpus: Path) -> None:
    dev = EncoderDev(dev_documents(PreparedDataset.open(corpus).documents("dev"), 2), kb, Tokenizer.open(encoder), SETTINGS)
    require_left_alone(dev, tiny_encoder().train())


@pytest.mark.usefixtures("in_fp32")
def test_dev_encodes_names_with_the_current_weights(encoder: Path, kb: KnowledgeBase) -> None:
    """If all weights are zero, all vectors are equal, so every query finds the first concept."""
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


def scores(folder: Path) -> list[float]:
    entries = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [entry["eval_dev_r1"] for entry in entries if "eval_dev_r1" in entry]


def align_config(encoder: Path, corpus: Path | None, kb_folder: Path, **more: Any) -> EncoderTrainingConfig:
    return encoder_config("align", encoder, corpus, kb_folder, **more)


@pytest.fixture(scope="module")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory, encoder: Path, corpus: Path, kb_folder: Path) -> Path:
    """Return an encoder trained on the names of three concepts. It is evaluated on train, because dev has few mentions."""
    config = align_config(encoder, corpus, kb_folder, optim=LEARNING, dev={"mentions": 12, "split": "train"})
    return train(config, tmp_path_factory.mktemp("align") / "aligned")


@pytest.mark.slow
def test_align_learns(encoder_folder: Path) -> None:
    found, loss = scores(encoder_folder), losses(encoder_folder)
    assert len(found) == 4
    assert max(found) > found[0] + 10
    assert np.mean(loss[-3:]) < np.mean(loss[:3]) * 0.8
    assert record(encoder_folder)["metrics"]["dev_r1"] == max(found)


def test_published_encoder_opens(encoder_folder: Path, encoder: Path, kb_folder: Path) -> None:
    assert {path.name for path in encoder_folder.iterdir()} == FILES
    kb, model = KnowledgeBase.open(kb_folder), Encoder.open(encoder_folder, precision="fp32")
    assert model.settings == EncoderSettings(pooling="mean", similarity="cosine")
    linker = DenseLinker.from_pretrained(encoder_folder, kb, dtype="fp32")
    (linked,) = link_with(linker, [DOC])
    assert [link.candidates[0].concept_id for link in linked.links] == ["mesh:D009203", "mesh:D005334"]
    assert not are_equal(load_file(encoder_folder / "model.safetensors"), load_file(encoder / "model.safetensors"))
    found = record(encoder_folder)
    assert (found["stage"], found["stages"], found["first_start"]) == ("align", ["align"], "tiny-bert")
    assert EncoderTrainingConfig.of(found["config"]).optim.steps == 60
    text = (encoder_folder / "README.md").read_text()
    assert "An encoder of names, from tiny-bert" in text
    assert "DenseLinker.from_pretrained" in text
    assert "GenerativeLinker" not in text


@pytest.mark.slow
def test_computes_steps_from_epochs(tmp_path: Path, encoder: Path, kb_folder: Path) -> None:
    """The knowledge base has 12 pairs, so three epochs are 36 pairs, which are nine batches of four."""
    aligned = train(align_config(encoder, None, kb_folder, optim={"epochs": 3.0, "steps": 99}), tmp_path / "made")
    assert record(aligned)["steps"] == 9
    assert record(aligned)["metrics"] == {}


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16-weights"])
def test_align_resumes_after_interruption(
    tmp_path: Path, encoder: Path, kb_folder: Path, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = align_config(encoder, None, kb_folder, optim={"eval_steps": 2, "precision": precision}, start={"dropout": 0.3})
    whole, queries = train(config, tmp_path / "whole"), list[int]()

    class Stopping(PairCollate):
        def __call__(self, positives: Any) -> Any:
            queries.append(len(positives))
            if len(queries) == 4:
                raise RuntimeError("stopped")
            return super().__call__(positives)

    with monkeypatch.context() as patched:
        patched.setattr(align_module, "PairCollate", Stopping)
        with pytest.raises(RuntimeError, match="stopped"):
            train(config, tmp_path / "parts")
    assert not (tmp_path / "parts").exists()
    parts = train(config, tmp_path / "parts")
    assert are_equal(load_file(whole / "model.safetensors"), load_file(parts / "model.safetensors"))


def test_rejects_kb_without_synonyms(tmp_path: Path, encoder: Path) -> None:
    kb = kb_of(tmp_path, words(5))
    with pytest.raises(InputError, match="training-empty"):
        train(align_config(encoder, None, kb.folder.parent), tmp_path / "made")


def pairs_of(
    folder: Path, encoder: Path, corpus: Path, kb: Path, monkeypatch: pytest.MonkeyPatch, **data: Any
) -> list[Positive]:
    """Return the training pairs of one epoch of the match stage."""
    found: list[Positive] = []
    monkeypatch.setattr(match_module, "train_pairs", lambda _, pairs: found.extend(pairs.__getitems__(range(pairs.epoch))))
    match_module.match(EncoderContext(encoder_config("match", encoder, corpus, kb, data=data), folder))
    return found


@pytest.mark.slow
def test_match_learns_and_records_the_previous_stage(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    aligned = train(encoder_config("align", encoder, None, kb_folder), tmp_path / "aligned")
    learning = {"steps": 60, "batch_size": 8, "eval_steps": 20, "learning_rate": 3e-3}
    config = encoder_config(
        "match", aligned, corpus, kb_folder,
        start={"pooling": None, "similarity": None}, data={"mix": 0.25, "hard_negatives": 1}, optim=learning,
        dev={"mentions": 12, "split": "train"},
    )  # fmt: skip
    made = train(config, tmp_path / "made")
    found = scores(made)
    assert max(found) > found[0] + 10
    assert record(made)["stages"] == ["align", "match"]
    assert record(made)["corpus"]["name"] == "ncbi-disease"
    (linked,) = link_with(DenseLinker.from_pretrained(made, KnowledgeBase.open(kb_folder)), [DOC])
    assert all(link.candidates for link in linked.links)
    again = train(config, tmp_path / "again")
    assert are_equal(load_file(made / "model.safetensors"), load_file(again / "model.safetensors"))


def test_match_on_mentions_only(
    tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = pairs_of(tmp_path, encoder, corpus, kb_folder, monkeypatch)
    assert len(found) == 12
    assert {"heart attacks", "hypertensions", "infarct"} <= {pair.first for pair in found}


def test_match_with_synonyms_and_hard_negatives(
    tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = len(KnowledgeBase.open(kb_folder).names)
    mixed = pairs_of(tmp_path, encoder, corpus, kb_folder, monkeypatch, mix=0.5)
    assert (len(mixed), sum(max(pair.names) < names for pair in mixed) >= 12) == (24, True)
    hard = pairs_of(tmp_path, encoder, corpus, kb_folder, monkeypatch, hard_negatives=1)
    assert len(hard) == 24
    for own, wrong in zip(hard[::2], hard[1::2], strict=True):
        assert wrong.concept not in (own.concept, *own.also)


def test_match_requires_a_dataset(tmp_path: Path, encoder: Path, kb_folder: Path) -> None:
    with pytest.raises(ConfigError, match="no dataset given"):
        train(encoder_config("match", encoder, None, kb_folder), tmp_path / "made")
