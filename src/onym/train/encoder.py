"""Training of encoders (SapBERT): names of one concept are pulled together, those of different concepts apart.

`align` trains on pairs of names of a knowledge base (section 2), `match` on the mentions of a dataset (appendix A.3).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from onym.evaluate.cases import ConceptResolver
from onym.index.build import index_in_memory, open_derived_index
from onym.kb import KnowledgeBase
from onym.linkers.dense import DenseLinker
from onym.models.encoder import Reading, batches
from onym.models.settings import EncoderSettings, read_settings
from onym.models.tokens import FILE, Tokenizer
from onym.models.torch_encoder import Encoder, vectors_of
from onym.models.torch_loading import in_precision
from onym.train.configs import EncoderLossConfig, EncoderOptimConfig, EncoderTrainingConfig
from onym.train.context import TrainingContext, dev_documents, dev_names, dev_recall
from onym.train.metric_losses import ContrastiveLoss, MultiSimilarityLoss, all_pairs, hard_pairs
from onym.train.samples.base import Batch, Positive, RepeatedSamples, Samples
from onym.train.samples.mentions import MentionPairs
from onym.train.samples.negatives import HardPairs, mine
from onym.train.samples.pairs import Mixed, PositivePairs, labels_of, same_of
from onym.train.start import open_encoder
from onym.train.trainer import Dev, ModelTrainer
from onym.types import Document

_log = logging.getLogger("onym.train")
_BUDGET = 2_048  # tokens read at once on a CPU, padding included
_TOP = 10


def align(context: EncoderContext) -> AlignTrainer:
    """Train on pairs of names of a knowledge base; an interrupted run resumes."""
    return train_pairs(context, name_pairs(context))


def name_pairs(context: EncoderContext) -> PositivePairs:
    """Return the pairs of names of the knowledge base."""
    return PositivePairs(context.kb, count=0, seed=context.config.optim.seed, max_pairs=context.config.data.max_pairs)


def train_pairs(context: EncoderContext, pairs: RepeatedSamples[Positive]) -> AlignTrainer:
    """Train on positive pairs: what both stages share."""
    optim = context.config.optim.with_steps_of(pairs.epoch, context.samples_per_step, ceil)
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


@dataclass(frozen=True)
class EncoderContext(TrainingContext[EncoderTrainingConfig]):
    """What the training of an encoder works with."""

    @property
    def files(self) -> dict[str, bytes]:
        """The files besides the weights: the tokenizer, and how embeddings are made and compared."""
        return {FILE: self.reading.tokenizer.data, EncoderSettings.FILE: self.settings.to_bytes()}

    @cached_property
    def model(self) -> Any:
        """The model to train, in fp32."""
        start = self.config.start
        _log.info("opening the model %s", start.model)
        return self.on_device(open_encoder(Path(start.model), start))

    @cached_property
    def reading(self) -> Reading:
        """How it tokenises: as the encoder that it will be."""
        start = self.config.start
        own = read_settings(Path(start.model))
        settings = own.changed(pooling=start.pooling, similarity=start.similarity, length=start.length)
        return Encoder(self.model, self.tokenizer, settings).reading

    @property
    def settings(self) -> EncoderSettings:
        """How its embeddings are made and compared."""
        return self.reading.settings

    @cached_property
    def dev(self) -> EncoderDev | None:
        """The evaluation on dev, if there is a dataset and it is not disabled."""
        config = self.config.dev
        if self.dataset is None or not config.mentions:
            return None
        _log.info("preparing the evaluation on %s", config.split)
        kb, documents = self.dev_kb, dev_documents(self.dataset.documents(config.split), config.mentions)
        return EncoderDev(documents, kb, self.reading.tokenizer, self.settings, dev_names(documents, kb, config.names))


@dataclass(frozen=True, slots=True)
class PairCollate:
    """Makes a batch of pairs.

    *Shape:* of `n` pairs, `input_ids` and `attention_mask` (2n, tokens), `labels` (2n,), and `same` (2n, 2n): rows of different
    concepts that are no negatives.
    """

    reading: Reading
    kb: KnowledgeBase

    def __call__(self, positives: Sequence[Positive]) -> Batch:
        """Return the batch of pairs, in their order."""
        texts = [each.first for each in positives] + [each.second for each in positives]
        ids, mask = self.reading.rows(self.reading.tokenizer.ids_of(texts), np.arange(len(texts)))
        meant = {"labels": labels_of(positives), "same": same_of(positives, self.kb)}
        read = {"input_ids": ids, "attention_mask": mask}
        return {name: torch.from_numpy(values) for name, values in (read | meant).items()}


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


class EncoderDev:
    """Links the same mentions each time: `dev_r1` and `dev_r5` are recall, any-id, in percent, as in `onym evaluate`.

    `names` are the ids of the names to search among; None is all. Among fewer names the right one is easier to find: such a
    score compares models, and is higher than that of `onym evaluate`.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        kb: KnowledgeBase,
        tokenizer: Tokenizer,
        settings: EncoderSettings,
        names: npt.NDArray[np.int64] | None = None,
    ) -> None:
        self._documents, self._kb, self._known = documents, kb, ConceptResolver(kb)
        self._tokenizer, self._settings, self._names = tokenizer, settings, names

    def __len__(self) -> int:
        return sum(len(doc.mentions) for doc in self._documents)

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the scores of a model, which is left unchanged."""
        encoder = Encoder(in_precision(model, "auto"), self._tokenizer, self._settings)
        linker = DenseLinker(self._kb, encoder, index_in_memory(self._kb, encoder, self._names))
        return dev_recall(linker, self._documents, self._known, top_k=_TOP)
