"""Training of a model that reads documents: what is near and wrong is looked for again after every epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import TrainerCallback

from onym.encoders.collective import NAMES
from onym.encoders.loading import quiet
from onym.encoders.reading import Reading
from onym.train.config import EncoderOptimConfig
from onym.train.generative.collate import Batch
from onym.train.samples.negatives import Floats, Ints, Rivals
from onym.train.samples.windows import Sights
from onym.train.trainer import Dev, ModelTrainer

Miner = Callable[[Any], None]
"""Orders the rivals anew, by a model as it is."""
Known = Callable[[Ints], Floats]
"""Returns the vectors of names by their places."""


class CollectiveTrainer(ModelTrainer):
    """Trains on windows of documents. `rivals` are the names beside the right ones, and `mine` looks for them anew.

    Names are read by `reading`; those whose encoder does not learn have their vectors by `known`, in place of that.
    """

    metric = "eval_dev_f1"

    def __init__(
        self,
        model: Any,
        sights: Sights,
        collate: Callable[[Sequence[Any]], Batch],
        folder: Path,
        optim: EncoderOptimConfig,
        *,
        reading: Reading | None = None,
        rivals: Rivals | None = None,
        known: Known | None = None,
        mine: Miner | None = None,
        dev: Dev | None = None,
        patience: int = 0,
    ) -> None:
        super().__init__(model, sights, collate, folder, optim, dev=dev, patience=patience)
        self.reading, self.rivals, self.known = reading, rivals, known
        if mine is not None:
            each = max(1, sights.epoch // (optim.batch * optim.accumulation * self.accelerator.num_processes))
            self.add_callback(_Mining(lambda: mine(self.accelerator.unwrap_model(self.model)), each))

    def batch_loss(self, model: Any, inputs: Batch) -> Tensor:
        """Return the sum of the losses of a batch."""
        loss: Tensor = model(**inputs, **self._names(inputs["numbers"]))
        return loss

    def items(self, inputs: Batch) -> int:
        """Count windows: some have no mention."""
        return len(inputs["input_ids"])

    def _names(self, numbers: Tensor) -> Batch:
        """Return the names that a batch's mentions are held against, chosen when they are needed: after the last mining."""
        if self.rivals is None or self.reading is None or not len(numbers):
            return {}
        names = self.rivals.chosen(numbers.tolist(), self.state.global_step)
        found: dict[str, npt.NDArray[Any]] = {"right": self.rivals.right(numbers.tolist(), names)}
        if self.known is not None:
            found["name_vectors"] = self.known(np.array(names, dtype=np.int64))
        else:
            texts = [self.rivals.kb.names[name] for name in names]
            found["name_ids"], found["name_mask"] = self.reading.rows(
                self.reading.tokenizer.ids_of(texts), np.arange(len(texts))
            )
        return {name: torch.from_numpy(value).to(numbers.device) for name, value in found.items()}

    def write(self, folder: Path) -> None:
        """Write the encoders that learnt, as Hugging Face has them; all else is among the other files."""
        bare = self.accelerator.unwrap_model(self.model)
        with quiet():
            bare.body.save_pretrained(folder)
            if bare.names is not None and self.known is None:
                bare.names.save_pretrained(folder / NAMES)


class _Mining(TrainerCallback):  # type: ignore[misc]
    """Mines before the first step of every epoch but the first one, for which that was done before."""

    def __init__(self, mine: Callable[[], None], each: int) -> None:
        self._mine, self._each = mine, each

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - as Trainer calls it
        if state.global_step and state.global_step % self._each == 0:
            self._mine()
