"""Training of encoders: strings of one concept are pulled together, those of different concepts apart (SapBERT, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from onym.models.encoder import batches
from onym.models.settings import EncoderSettings
from onym.models.torch_encoder import vectors_of
from onym.train.encoder.config import EncoderLossConfig, EncoderOptimConfig
from onym.train.losses.contrastive import ContrastiveLoss
from onym.train.losses.miner import all_pairs, hard_pairs
from onym.train.losses.multi_similarity import MultiSimilarityLoss
from onym.train.samples.base import Batch, Positive, Samples
from onym.train.trainer import Dev, ModelTrainer

_BUDGET = 2_048  # tokens read at once on a CPU, padding included


class AlignTrainer(ModelTrainer):
    """Trains an encoder on pairs. Negatives are the other rows of a batch on one device: accumulation adds none."""

    def __init__(
        self,
        model: Any,
        pairs: Samples[Positive],
        collate: Callable[[Sequence[Positive]], Batch],
        folder: Path,
        optim: EncoderOptimConfig,
        *,
        settings: EncoderSettings,
        loss: EncoderLossConfig,
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
        """Return the vectors of rows, as the encoder makes them; on a CPU rows of similar length are encoded together.

        *Shape:* ids and mask (rows, tokens) -> (rows, width). Rows do not depend on each other, so only the time changes.
        """
        if ids.device.type != "cpu" or self.accelerator.num_processes > 1 or self.settings.pooling == "mean-all":
            return vectors_of(model, ids, mask, self.settings)  # a model wrapped for several devices needs one pass
        lengths = mask.sum(1)
        order = [torch.from_numpy(rows) for rows in batches(lengths.numpy(), _BUDGET)]
        found = [self._part(model, ids[rows], mask[rows], int(lengths[rows[0]])) for rows in order]
        return torch.cat(found)[torch.cat(order).argsort()]

    def _part(self, model: Any, ids: Tensor, mask: Tensor, length: int) -> Tensor:
        return vectors_of(model, ids[:, :length], mask[:, :length], self.settings)


def _loss(config: EncoderLossConfig) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Return the loss of vectors by their labels, and by the mask of pairs that are no negatives."""
    if config.kind == "contrastive":
        contrastive = ContrastiveLoss(config.scale)
        return lambda vectors, labels, same: contrastive(vectors, all_pairs(labels, same=same))
    similarity = MultiSimilarityLoss(config.alpha, config.beta, config.base)
    return lambda vectors, labels, same: similarity(vectors, hard_pairs(vectors, labels, margin=config.margin, same=same))
