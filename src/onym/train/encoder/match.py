"""Fine-tuning of an encoder on a dataset (SapBERT, appendix A.3): mentions are pulled to the names of their concepts."""

from __future__ import annotations

import logging
from pathlib import Path

from onym.index.build import open_derived_index
from onym.linkers.dense import DenseLinker
from onym.models.torch_encoder import Encoder
from onym.train.encoder.align import name_pairs, train_pairs
from onym.train.encoder.context import EncoderContext
from onym.train.encoder.trainer import AlignTrainer
from onym.train.samples.base import Positive, RepeatedSamples
from onym.train.samples.hard import HardPairs, mine
from onym.train.samples.mention_pairs import MentionPairs
from onym.train.samples.mixed import Mixed

_log = logging.getLogger("onym.train")


def match(context: EncoderContext) -> AlignTrainer:
    """Train on the mentions of a dataset; an interrupted run resumes."""
    data = context.config.data
    _log.info("choosing names for %d mentions", len(context.mentions))
    mentions = MentionPairs(context.mentions, context.kb, count=0, similar=data.similar, seed=context.config.optim.seed)
    pairs: RepeatedSamples[Positive] = _with_hard_negatives(context, mentions) if data.hard_negatives else mentions
    return train_pairs(context, Mixed(pairs, name_pairs(context), data.mix) if data.mix else pairs)


def _with_hard_negatives(context: EncoderContext, mentions: MentionPairs) -> HardPairs:
    """Add to each mention the concepts that the model confuses it with before the training."""
    hard = context.config.data.hard_negatives
    _log.info("embedding the knowledge base and linking the dataset, to mine hard negatives")
    encoder = Encoder.open(Path(context.config.start.model), context.settings, device=str(context.device))
    linker = DenseLinker(context.kb, encoder, open_derived_index(context.kb, encoder))
    return HardPairs(mentions, mine(linker, mentions, hard), context.kb, hard, context.config.optim.seed)
