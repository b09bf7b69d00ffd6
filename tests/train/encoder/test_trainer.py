"""Training of encoders: a step is the one that mathematics says, and a stopped training ends as one that was not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from onym.kb import KnowledgeBase
from onym.models.encoder import Reading
from onym.models.settings import EncoderSettings
from onym.models.tokens import Tokenizer
from onym.models.torch_encoder import Encoder
from onym.testing.tiny_encoder import tiny_encoder
from onym.train.encoder import trainer as module
from onym.train.encoder.collate import PairCollate
from onym.train.encoder.config import EncoderLossConfig, EncoderOptimConfig
from onym.train.encoder.trainer import AlignTrainer
from onym.train.samples.base import Batch, Positive
from onym.train.samples.positives import PositivePairs
from tests.train.adamw import AdamWByHand
from tests.train.tiny import are_equal, encoder_optim, furthest, weights_of

LOSS = EncoderLossConfig(margin=0.3, alpha=2.0, beta=10.0, base=0.4)
POOLINGS = [EncoderSettings(), EncoderSettings(pooling="mean", similarity="cosine"), EncoderSettings(pooling="mean-all")]


def bare(dtype: torch.dtype = torch.float32, dropout: float = 0.0) -> Any:
    """Return the tiny encoder without its pooler, to be trained."""
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


def made(
    model: Any, kb: KnowledgeBase, tokens: Tokenizer, folder: Path, optim: EncoderOptimConfig, collate: Any = None, **more: Any
) -> AlignTrainer:
    settings = more.pop("settings", POOLINGS[1])
    own = PairCollate(Reading(tokens, settings, pad=1), kb)
    pairs = PositivePairs(kb, count=optim.steps * optim.batch_size * optim.gradient_accumulation, seed=optim.seed)
    return AlignTrainer(model, pairs, collate or own, folder, optim, settings=settings, loss=LOSS, **more)


# One step, by hand.


def loss_by_hand(model: Any, kb: KnowledgeBase, tokens: Tokenizer, pairs: Sequence[Positive], dtype: torch.dtype) -> Tensor:
    """Return the loss with each string read alone, and every triplet looked at."""
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
def test_steps_are_those_computed_by_hand(
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
    trainer = made(model, kb, tokens, tmp_path, settings)
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


# The vectors that are learnt from.


@pytest.mark.parametrize("settings", POOLINGS)
@pytest.mark.parametrize("budget", [1, 20, 100_000])
def test_they_are_those_of_the_encoder(
    tmp_path: Path,
    kb: KnowledgeBase,
    tokens: Tokenizer,
    settings: EncoderSettings,
    budget: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_BUDGET", budget)
    model = bare()
    trainer = made(model, kb, tokens, tmp_path, encoder_optim(), settings=settings)
    pairs = PositivePairs(kb, count=9).__getitems__(range(9))
    batch = PairCollate(Reading(tokens, settings, pad=1), kb)(pairs)
    found = trainer.vectors(trainer.model, batch["input_ids"], batch["attention_mask"])
    texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    np.testing.assert_allclose(found.detach().numpy(), Encoder(bare(), tokens, settings).encode(texts), atol=1e-5)
    assert found.requires_grad


def test_the_loss_is_a_sum_over_rows(tmp_path: Path, kb: KnowledgeBase, tokens: Tokenizer) -> None:
    trainer = made(bare(), kb, tokens, tmp_path, encoder_optim())
    pairs = PositivePairs(kb, count=9).__getitems__(range(5))
    batch = PairCollate(Reading(tokens, POOLINGS[1], pad=1), kb)(pairs)
    expected = loss_by_hand(bare(), kb, tokens, pairs, torch.float32) * 10
    assert trainer.items(batch) == 10
    assert trainer.batch_loss(trainer.model, batch).item() == pytest.approx(expected.item(), rel=1e-4)


# Stopping and going on.


class Counted:
    """Makes batches; the training stops before the one that is given."""

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
def test_a_stopped_training_ends_as_one_that_was_not(
    tmp_path: Path, kb: KnowledgeBase, tokens: Tokenizer, precision: str
) -> None:
    settings = encoder_optim(steps=6, eval_steps=2, batch_size=3, precision=precision, schedule="linear", warmup_steps=2)
    whole, parts = bare(dropout=0.3), bare(dropout=0.3)
    made(whole, kb, tokens, tmp_path / "whole", settings).resume()
    stopping = Counted(PairCollate(Reading(tokens, POOLINGS[1], pad=1), kb), stop=5)
    with pytest.raises(RuntimeError, match="stopped"):
        made(bare(dropout=0.3), kb, tokens, tmp_path / "parts", settings, stopping).resume()
    torch.manual_seed(99)
    made(parts, kb, tokens, tmp_path / "parts", settings).resume()
    assert are_equal(weights_of(parts), weights_of(whole))
    assert furthest(weights_of(whole), weights_of(bare())) > 1e-3
