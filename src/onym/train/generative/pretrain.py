"""KB-guided pre-training (GenBioEL section 2.2): synonyms and definitions of the knowledge base, put into clauses."""

from __future__ import annotations

from onym.train.generative.context import GenerativeContext
from onym.train.generative.finetune import train_names
from onym.train.generative.trainer import NameTrainer
from onym.train.samples.statements import KnowledgeSamples


def pretrain(context: GenerativeContext) -> NameTrainer:
    """Train on the names of a knowledge base; an interrupted run resumes."""
    config = context.config
    samples = KnowledgeSamples(
        context.kb, context.layout, count=context.total_samples, seed=config.optim.seed, mention=config.data.mention
    )
    return train_names(context, samples)
