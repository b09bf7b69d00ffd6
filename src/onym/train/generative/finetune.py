"""Synonyms-aware fine-tuning (GenBioEL section 2.3; ANGEL's positive-only training): mentions with similar names as targets."""

from __future__ import annotations

import logging

from onym.train.generative.context import GenerativeContext
from onym.train.generative.trainer import NameTrainer
from onym.train.samples.base import Sample, Samples
from onym.train.samples.mentions import MentionSamples
from onym.train.samples.targets import require_linkable

_log = logging.getLogger("onym.train")


def finetune(context: GenerativeContext) -> NameTrainer:
    """Train on the mentions of a dataset; an interrupted run resumes."""
    data = context.config.data
    _log.info("choosing names for %d mentions", len(context.mentions))
    samples = MentionSamples(
        context.mentions,
        context.kb,
        context.layout,
        count=context.total_samples,
        choice=data.target,
        names=data.names,
        seed=context.config.optim.seed,
    )
    require_linkable(samples.epoch)
    return train_names(context, samples)


def train_names(context: GenerativeContext, samples: Samples[Sample]) -> NameTrainer:
    """Train on names as targets: what fine-tuning and pre-training share."""
    trainer = NameTrainer(
        context.model,
        samples,
        context.collate,
        context.work,
        context.config.optim,
        dev=context.dev,
        patience=context.config.dev.patience,
    )
    trainer.resume()
    return trainer
