"""TRL's CPO trainer as a reference for the losses: created without its constructor, with a tiny BART."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import BartConfig, BartForConditionalGeneration

from onym.train.generative.losses import IGNORED
from tests.train.closed import backward

quietly = pytest.mark.filterwarnings("ignore:You are importing from 'trl.experimental'")
PAD, START, LENGTH = 1, 2, 5


def oracle(loss_type: str, *, beta: float, gamma: float = 0.0, alpha: float = 0.0, smoothing: float = 0.0) -> Any:
    """Return a trainer with these options; `alpha`, the weight of the cross-entropy, is `cpo_alpha` in TRL."""
    from trl.experimental.cpo import CPOTrainer

    trainer = object.__new__(CPOTrainer)
    trainer.loss_type, trainer.beta, trainer.simpo_gamma, trainer.cpo_alpha = loss_type, beta, gamma, alpha
    trainer.label_smoothing, trainer.alpha = smoothing, 0.0
    trainer.is_encoder_decoder, trainer.aux_loss_enabled = True, False
    trainer.pad_token_id, trainer.decoder_start_token_id = PAD, START
    trainer.accelerator = SimpleNamespace(device=torch.device("cpu"), gather_for_metrics=lambda values: values)
    return trainer


def tiny_bart() -> Any:
    config = BartConfig(
        vocab_size=23, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=32, pad_token_id=PAD, bos_token_id=0, eos_token_id=2,
        decoder_start_token_id=START, init_std=0.5,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return BartForConditionalGeneration(config).eval()


def batch() -> dict[str, Tensor]:
    """Return three pairs in TRL's format: names of different lengths, and no prompt in the decoder."""
    generator = torch.Generator().manual_seed(6)
    sides = {}
    for side, lengths in (("chosen", (5, 2, 3)), ("rejected", (1, 4, 5))):
        labels = torch.randint(3, 23, (3, LENGTH), generator=generator)
        for row, length in enumerate(lengths):
            labels[row, length:] = IGNORED
        sides[f"{side}_labels"] = labels
    source = torch.randint(3, 23, (3, 7), generator=generator)
    return sides | {"prompt_input_ids": source, "prompt_attention_mask": torch.ones_like(source)}


def own_logits(model: Any, inputs: dict[str, Tensor], side: str) -> tuple[Tensor, Tensor]:
    """Return logits and labels of the chosen or rejected names; the model shifts the labels itself."""
    labels = inputs[f"{side}_labels"]
    prompt = {"input_ids": inputs["prompt_input_ids"], "attention_mask": inputs["prompt_attention_mask"]}
    return model(**prompt, labels=labels, use_cache=False).logits, labels


def gradients(model: Any, loss: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    backward(loss)
    return {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}
