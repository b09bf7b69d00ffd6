"""Learning to write names: what fine-tuning and pre-training share once they have their samples."""

from __future__ import annotations

from onym.train.generative.context import Setting
from onym.train.generative.trainer import NameTrainer
from onym.train.samples.base import Sample, Samples


def learn(setting: Setting, samples: Samples[Sample]) -> NameTrainer:
    """Train on samples, going on where an earlier call was stopped."""
    trainer = NameTrainer(
        setting.model,
        samples,
        setting.collate,
        setting.work,
        setting.config.optim,
        dev=setting.dev,
        patience=setting.config.dev.patience,
    )
    trainer.resume()
    return trainer
