"""Training to write names: a step is the one that mathematics says, and the loss is on names and their ends alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from onym.testing.tiny_seq2seq import tiny_bart
from onym.train.generative.trainer import NameTrainer
from onym.train.samples.base import Sample
from tests.train.adamw import AdamWByHand
from tests.train.tiny import COLLATE, EOS, START, furthest, optim, samples, trained, weights_of


def still_bart(dtype: torch.dtype = torch.float32) -> Any:
    """Return the tiny model without dropout."""
    return tiny_bart(dropout=0.0).to(dtype)


# One step, by hand.


def loss_by_hand(model: Any, batch: Sequence[Sample], smoothing: float) -> Tensor:
    """Return the mean over the tokens of all names: each sample alone, the whole vocabulary, token after token."""
    total, tokens = torch.zeros((), dtype=model.dtype), 0
    for sample in batch:
        written = [*sample.name, EOS]
        ids = torch.tensor([[START, *sample.prompt, *sample.name]])
        logits = model(input_ids=torch.tensor([sample.source]), decoder_input_ids=ids, use_cache=False).logits[0]
        for number, token in enumerate(written):
            log_probs = logits[len(sample.prompt) + number].log_softmax(-1)
            total = total - (1 - smoothing) * log_probs[token] - smoothing * log_probs.mean()
            tokens += 1
    return total / tokens


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "epsilon", "tolerance"), [(torch.float64, 1e-8, 1e-8), (torch.float32, 1e-4, 1e-5)])
def test_steps_are_those_computed_by_hand(tmp_path: Path, dtype: torch.dtype, epsilon: float, tolerance: float) -> None:
    """With a large epsilon the rounding of gradients that should be zero does not show in fp32."""
    settings = optim(
        steps=3, eval_steps=3, batch_size=4, gradient_accumulation=2, label_smoothing=0.1, weight_decay=0.5,
        epsilon=epsilon, max_grad_norm=0.5, schedule="linear", warmup_steps=1,
    )  # fmt: skip
    dataset, model = samples(24), still_bart(dtype)
    trainer = trained(model, dataset, tmp_path, settings)

    expected, by_hand, losses = still_bart(dtype), AdamWByHand(settings), []
    before = weights_of(expected)
    for step, rate in enumerate((0.0, 1e-2, 1e-2 / 2)):  # one step of warming up, then down to nothing
        expected.zero_grad()
        loss = loss_by_hand(expected, dataset.samples[step * 8 : step * 8 + 8], 0.1)
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(loss.item())
        by_hand.step(expected, rate)
    assert furthest(weights_of(model), weights_of(expected)) < tolerance
    assert furthest(before, weights_of(expected)) > 1e-2
    logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert logged == pytest.approx(losses, abs=1e-4)


# Where there is a loss.


def made(folder: Path, **more: Any) -> NameTrainer:
    return NameTrainer(still_bart(), samples(4), COLLATE, folder, optim(**more))


def test_the_loss_is_the_sum_over_names_and_their_ends(tmp_path: Path) -> None:
    trainer, batch = made(tmp_path, label_smoothing=0.1), samples(6).samples
    model = trainer.accelerator.unwrap_model(trainer.model)
    tokens = sum(len(sample.name) + 1 for sample in batch)
    expected = loss_by_hand(model, batch, 0.1) * tokens
    assert trainer.batch_loss(trainer.model, COLLATE(batch)).item() == pytest.approx(expected.item(), rel=1e-5)


def test_what_is_said_of_the_prompt_changes_nothing(tmp_path: Path) -> None:
    trainer, batch = made(tmp_path), COLLATE(samples(6).samples)
    is_labelled, added = batch["labels"] != -100, torch.zeros(*batch["labels"].shape, 16, requires_grad=True)
    states = trainer.model.get_decoder().register_forward_hook(lambda _, __, output: _add(output, added))
    loss = trainer.batch_loss(trainer.model, dict(batch))
    loss.backward()  # type: ignore[no-untyped-call]
    assert added.grad is not None
    assert not added.grad[~is_labelled].any()
    assert added.grad[is_labelled].any(dim=-1).all()
    with torch.no_grad():
        added[~is_labelled] = 7.0
        assert trainer.batch_loss(trainer.model, dict(batch)).item() == loss.item()
        added[is_labelled] = 7.0
        assert trainer.batch_loss(trainer.model, dict(batch)).item() != loss.item()
    states.remove()


def _add(output: Any, added: Tensor) -> Any:
    output.last_hidden_state = output.last_hidden_state + added
    return output
