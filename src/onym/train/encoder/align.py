"""Self-alignment (SapBERT, section 2): names of one concept are drawn together, those of different concepts apart."""

from __future__ import annotations

import logging
from math import ceil

from onym.train.encoder.collate import PairCollate
from onym.train.encoder.context import EncoderContext
from onym.train.encoder.trainer import AlignTrainer
from onym.train.samples.base import Positive, RepeatedSamples
from onym.train.samples.positives import PositivePairs

_log = logging.getLogger("onym.train")


def align(context: EncoderContext) -> AlignTrainer:
    """Train on pairs of names of a knowledge base; an interrupted run resumes."""
    return train_pairs(context, name_pairs(context))


def name_pairs(context: EncoderContext) -> PositivePairs:
    """Return the pairs of names of the knowledge base."""
    return PositivePairs(context.kb, count=0, seed=context.config.optim.seed, max_pairs=context.config.data.max_pairs)


def train_pairs(context: EncoderContext, pairs: RepeatedSamples[Positive]) -> AlignTrainer:
    """Train on positive pairs: what both stages share."""
    optim = context.config.optim
    if optim.epochs:
        optim = optim.model_copy(update={"steps": max(1, ceil(optim.epochs * pairs.epoch / context.samples_per_step))})
    _log.info("%d pairs in an epoch; %d steps", pairs.epoch, optim.steps)
    trainer = AlignTrainer(
        context.model,
        pairs.with_count(optim.steps * context.samples_per_step),
        PairCollate(context.reading, context.kb),
        context.work,
        optim,
        settings=context.settings,
        loss=context.config.loss,
        dev=context.dev,
        patience=context.config.dev.patience,
    )
    trainer.resume()
    return trainer
