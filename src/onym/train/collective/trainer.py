"""Training of a collective model: hard negatives are mined again after each epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import TrainerCallback

from onym.models.collective import NAMES
from onym.models.encoder import Reading
from onym.models.torch_loading import quiet
from onym.train.config import EpochOptimConfig
from onym.train.samples.base import Batch, RepeatedSamples
from onym.train.samples.negatives import Floats, Ints, Negatives
from onym.train.trainer import Dev, ModelTrainer

Miner = Callable[[Any], None]
"""Ranks the hard negatives again, by the current model."""
FrozenNames = Callable[[Ints], Floats]
"""Returns the stored embeddings of names by their ids."""


class CollectiveTrainer(ModelTrainer):
    """Trains on windows of documents. `negatives` are the names that mentions are compared with, and `mine` ranks them again.

    Names are tokenised by `reading`, or have stored embeddings, `frozen_names`, if their encoder is not trained.
    """

    metric = "eval_dev_f1"

    def __init__(
        self,
        model: Any,
        windows: RepeatedSamples[Any],
        collate: Callable[[Sequence[Any]], Batch],
        folder: Path,
        optim: EpochOptimConfig,
        *,
        reading: Reading | None = None,
        negatives: Negatives | None = None,
        frozen_names: FrozenNames | None = None,
        mine: Miner | None = None,
        dev: Dev | None = None,
        patience: int = 0,
    ) -> None:
        super().__init__(model, windows, collate, folder, optim, dev=dev, patience=patience)
        self.reading, self.negatives, self.frozen_names = reading, negatives, frozen_names
        if mine is not None:
            each = max(1, windows.epoch // (optim.batch_size * optim.gradient_accumulation * self.accelerator.num_processes))
            self.add_callback(_Mining(lambda: mine(self.accelerator.unwrap_model(self.model)), each))

    def batch_loss(self, model: Any, inputs: Batch) -> Tensor:
        """Return the sum of the losses of a batch."""
        loss: Tensor = model(**inputs, **self._names(inputs))
        return loss

    def items(self, inputs: Batch) -> int:
        """Count windows: some have no mention."""
        return len(inputs["input_ids"])

    def _names(self, inputs: Batch) -> Batch:
        """Return the names that a batch's mentions are compared with, sampled when they are needed: after the last mining."""
        if self.negatives is None or self.reading is None or not len(numbers := inputs["numbers"]):
            return {}
        names = self.negatives.sample(numbers.tolist(), self.state.global_step)
        found: dict[str, npt.NDArray[Any]] = {"is_positive": self.negatives.is_positive(numbers.tolist(), names)}
        if self.frozen_names is not None:
            found["name_vectors"] = self.frozen_names(np.array(names, dtype=np.int64))
        else:
            texts = [self.negatives.kb.names[name] for name in names]
            found["name_ids"], found["name_mask"] = self.reading.rows(
                self.reading.tokenizer.ids_of(texts), np.arange(len(texts))
            )
        return {name: torch.from_numpy(value).to(numbers.device) for name, value in found.items()}

    def write(self, folder: Path) -> None:
        """Write the trained encoders in Hugging Face's layout; the context has all other files."""
        bare = self.accelerator.unwrap_model(self.model)
        with quiet():
            bare.body.save_pretrained(folder)
            if bare.names is not None and self.frozen_names is None:
                bare.names.save_pretrained(folder / NAMES)


class _Mining(TrainerCallback):  # type: ignore[misc]
    """Mines before the first step of every epoch after the first."""

    def __init__(self, mine: Callable[[], None], each: int) -> None:
        self._mine, self._each = mine, each

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - as Trainer calls it
        if state.global_step and state.global_step % self._each == 0:
            self._mine()
