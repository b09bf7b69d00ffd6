"""Training of encoders: strings of one concept are drawn together, those of different ones apart (SapBERT, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from onym.encoders.batches import batches
from onym.encoders.settings import EncoderSettings
from onym.encoders.vectors import vectors_of
from onym.train.config import AlignLossConfig, EncoderOptimConfig
from onym.train.generative.collate import Batch
from onym.train.losses.contrastive import ContrastiveLoss
from onym.train.losses.miner import all_pairs, hard_pairs
from onym.train.losses.multi_similarity import MultiSimilarityLoss
from onym.train.samples.base import Positive, Samples
from onym.train.trainer import Dev, ModelTrainer

_BUDGET = 2_048  # tokens read at once on a CPU, padding included


class AlignTrainer(ModelTrainer):
    """Trains an encoder on pairs. Negatives are other rows of the same batch, on one device: accumulation brings no more."""

    def __init__(
        self,
        model: Any,
        pairs: Samples[Positive],
        collate: Callable[[Sequence[Positive]], Batch],
        folder: Path,
        optim: EncoderOptimConfig,
        *,
        settings: EncoderSettings,
        loss: AlignLossConfig,
        dev: Dev | None = None,
        patience: int = 0,
    ) -> None:
        super().__init__(model, pairs, collate, folder, optim, dev=dev, patience=patience)
        self.settings = settings
        self.loss = _loss(loss)

    def batch_loss(self, model: Any, inputs: Batch) -> Tensor:
        """Return the loss of a batch, as a sum over its rows as anchors."""
        labels = inputs["labels"]
        vectors = self.vectors(model, inputs["input_ids"], inputs["attention_mask"])
        return self.loss(vectors, labels, inputs["same"]) * len(labels)

    def items(self, inputs: Batch) -> int:
        """Count rows."""
        return len(inputs["labels"])

    def vectors(self, model: Any, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the vectors of rows, as the encoder makes them; on a CPU rows of like length are read together.

        *Shape:* ids and mask (rows, tokens) -> (rows, width). Each row's vector is its own, so nothing changes but the time.
        """
        if ids.device.type != "cpu" or self.accelerator.num_processes > 1 or self.settings.pooling == "mean-all":
            return vectors_of(model, ids, mask, self.settings)  # what wraps a model for several devices wants one pass
        lengths = mask.sum(1)
        order = [torch.from_numpy(rows) for rows in batches(lengths.numpy(), _BUDGET)]
        found = [self._part(model, ids[rows], mask[rows], int(lengths[rows[0]])) for rows in order]
        return torch.cat(found)[torch.cat(order).argsort()]

    def _part(self, model: Any, ids: Tensor, mask: Tensor, longest: int) -> Tensor:
        return vectors_of(model, ids[:, :longest], mask[:, :longest], self.settings)


def _loss(told: AlignLossConfig) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Return the loss of vectors with their labels, and with which of them are no negatives."""
    if told.kind == "contrastive":
        contrastive = ContrastiveLoss(told.scale)
        return lambda vectors, labels, same: contrastive(vectors, all_pairs(labels, same=same))
    similarity = MultiSimilarityLoss(told.alpha, told.beta, told.base)
    return lambda vectors, labels, same: similarity(vectors, hard_pairs(vectors, labels, margin=told.margin, same=same))
