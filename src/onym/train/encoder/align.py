"""Self-alignment (SapBERT, section 2): names of one concept are drawn together, those of different concepts apart."""

from __future__ import annotations

from math import ceil

from onym.train.encoder.collate import PairCollate
from onym.train.encoder.context import EncoderSetting
from onym.train.encoder.trainer import AlignTrainer
from onym.train.samples.base import Positive, Repeated
from onym.train.samples.positives import PositivePairs


def align(setting: EncoderSetting) -> AlignTrainer:
    """Train on pairs of names of a knowledge base, going on where an earlier call was stopped."""
    return learn_pairs(setting, name_pairs(setting))


def name_pairs(setting: EncoderSetting) -> PositivePairs:
    """Return the pairs of names of the knowledge base."""
    return PositivePairs(setting.kb, count=0, seed=setting.config.optim.seed, most=setting.config.data.most)


def learn_pairs(setting: EncoderSetting, pairs: Repeated[Positive]) -> AlignTrainer:
    """Train on pairs: what both stages share once they have them."""
    optim = setting.config.optim
    if optim.epochs:
        optim = optim.model_copy(update={"steps": max(1, ceil(optim.epochs * pairs.epoch / setting.step_samples))})
    setting.say(f"{pairs.epoch:,} pairs in an epoch; {optim.steps:,} steps")
    trainer = AlignTrainer(
        setting.model,
        pairs.counted(optim.steps * setting.step_samples),
        PairCollate(setting.reading, setting.kb),
        setting.work,
        optim,
        settings=setting.settings,
        loss=setting.config.loss,
        dev=setting.dev,
        patience=setting.config.dev.patience,
    )
    trainer.resume()
    return trainer
