"""Training of generative models: the loss is on the name only, and batches have samples of similar length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from onym.train.generative.config import GenerativeOptimConfig
from onym.train.generative.forward_hooks import head_where
from onym.train.losses.cross_entropy import cross_entropy
from onym.train.losses.log_probs import IGNORED
from onym.train.samples.base import Batch, Samples
from onym.train.samples.buckets import Bucketed
from onym.train.trainer import Dev, ModelTrainer


class NameTrainer(ModelTrainer):
    """Trains a model to generate names."""

    def __init__(
        self,
        model: Any,
        samples: Samples[Any],
        collate: Callable[[Sequence[Any]], Batch],
        folder: Path,
        optim: GenerativeOptimConfig,
        *,
        dev: Dev | None = None,
        patience: int = 0,
    ) -> None:
        ordered = Bucketed(samples, optim.batch_size, seed=optim.seed)
        super().__init__(model, ordered, collate, folder, optim, dev=dev, patience=patience)
        self.smoothing = optim.label_smoothing

    def batch_loss(self, model: Any, inputs: Batch) -> Tensor:
        """Return the sum of the losses of all labelled tokens."""
        labels = inputs.pop("labels")
        is_labelled = labels != IGNORED
        with head_where(self.accelerator.unwrap_model(model), is_labelled):
            logits = model(**inputs, use_cache=False).logits
        return cross_entropy(logits, labels[is_labelled], self.smoothing)

    def items(self, inputs: Batch) -> int:
        """Count labelled tokens."""
        return int((inputs["labels"] != IGNORED).sum())
