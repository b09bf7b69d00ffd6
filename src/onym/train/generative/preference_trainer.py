"""Preference optimisation: right names above wrong ones. The source of a pair is encoded once for both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from onym.train.generative.collate import NameCollate
from onym.train.generative.config import GenerativeOptimConfig, PreferConfig
from onym.train.generative.forward_hooks import head_where, sources_once
from onym.train.generative.trainer import NameTrainer
from onym.train.losses import IGNORED, NamedLoss, Preference, Score, loss_named
from onym.train.losses.log_probs import average_tokens, gathered_log_probs, score_sequences
from onym.train.samples.base import Batch, Pair, Samples
from onym.train.trainer import Dev

_NAMES = 2
_BATCH = 64


class PreferenceTrainer(NameTrainer):
    """Trains a model to prefer the right name of each pair."""

    def __init__(
        self,
        model: Any,
        pairs: Samples[Pair],
        collate: NameCollate,
        folder: Path,
        optim: GenerativeOptimConfig,
        *,
        prefer: PreferConfig,
        dev: Dev | None = None,
        patience: int = 0,
    ) -> None:
        super().__init__(model, pairs, collate.pairs, folder, optim, dev=dev, patience=patience)
        self.loss, self.score = loss_of(prefer), score_of(prefer)

    def batch_loss(self, model: Any, inputs: Batch) -> Tensor:
        """Return the sum of the losses of all pairs."""
        reference = inputs.pop("reference")
        scores, means = name_scores(model, self.accelerator.unwrap_model(model), inputs, self.score)
        preference = Preference(scores[:, 0], scores[:, 1], reference[:, 0], reference[:, 1])
        return self.loss(preference, -means[:, 0]).sum()

    def items(self, inputs: Batch) -> int:
        """Count pairs."""
        return len(inputs["reference"])


def loss_of(prefer: PreferConfig) -> NamedLoss:
    """Return the loss of a configuration, with those of its options that the loss has.

    >>> dict(loss_of(PreferConfig(loss="pairwise", beta=0.2)).options)["beta"]
    0.2
    """
    options = loss_named(prefer.loss).options
    return loss_named(prefer.loss, **{name: getattr(prefer, name) for name in ("beta", "gamma", "alpha") if name in options})


def score_of(prefer: PreferConfig) -> Score:
    """Return how a name is scored: as the loss was published, unless it is set.

    >>> score_of(PreferConfig(loss="simpo")), score_of(PreferConfig(loss="simpo", score="sum"))
    ('mean', 'sum')
    """
    return prefer.score or loss_of(prefer).score


def name_scores(model: Any, bare: Any, inputs: Batch, score: Score) -> tuple[Tensor, Tensor]:
    """Return the scores of the names of all pairs, and their mean log-probabilities, both (pairs, 2).

    `model` is called; `bare` is the same without what it is wrapped in.
    """
    labels = inputs.pop("labels")
    is_labelled = labels != IGNORED
    with sources_once(bare, _NAMES), head_where(bare, is_labelled):
        logits = model(**inputs, use_cache=False).logits
    tokens, rows = gathered_log_probs(logits, labels[is_labelled]), is_labelled.nonzero()[:, 0]
    scores, means = score_sequences(tokens, rows, len(labels), score), average_tokens(tokens, rows, len(labels))
    return scores.view(-1, _NAMES), means.view(-1, _NAMES)


def reference_scores(
    model: Any, pairs: Sequence[Pair], collate: NameCollate, score: Score, *, is_bf16: bool = False
) -> list[tuple[float, float]]:
    """Return the scores of both names of each pair by a model, without dropout; the model is left unchanged."""
    was_training = model.training
    found: list[tuple[int, list[float]]] = []
    model.eval()
    order = sorted(range(len(pairs)), key=lambda row: len(pairs[row].prompt) + len(pairs[row].preferred))
    with torch.no_grad(), torch.autocast(model.device.type, torch.bfloat16, enabled=is_bf16):
        for first in range(0, len(order), _BATCH):
            rows = order[first : first + _BATCH]
            batch = {name: value.to(model.device) for name, value in collate.pairs([pairs[row] for row in rows]).items()}
            batch.pop("reference")
            scores, _ = name_scores(model, model, batch, score)
            found += zip(rows, scores.tolist(), strict=True)
    model.train(was_training)
    return [(scores[0], scores[1]) for _, scores in sorted(found)]
