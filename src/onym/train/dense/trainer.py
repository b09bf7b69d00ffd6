"""Training of encoders (SapBERT): pull names of one concept together, and push names of different concepts apart.

`align` trains on pairs of names of a knowledge base (section 2), `match` on the mentions of a dataset (appendix A.3). The loss
is the multi-similarity loss on hard pairs, or the contrastive loss on all pairs of a batch. Distances and cosines are at least
float32.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from onym.errors import ConfigError
from onym.evaluate.cases import ConceptResolver
from onym.kb import KnowledgeBase
from onym.methods.dense.index.build import index_in_memory, open_derived_index
from onym.methods.dense.linker import DenseLinker
from onym.models.encoder import TokenBatch, batches
from onym.models.settings import EncoderSettings, read_settings
from onym.models.tokens import FILE, Tokenizer
from onym.models.torch_encoder import Encoder, vectors_of
from onym.models.torch_loading import in_precision
from onym.train.configs import EncoderLossConfig, EncoderOptimConfig, EncoderTrainingConfig
from onym.train.context import TrainingContext, dev_documents, dev_names, dev_recall
from onym.train.dense.pairs import HardPairs, Mixed, PositivePairs, labels_of, mine, same_of
from onym.train.precision import at_least_fp32
from onym.train.samples.base import Batch, Positive, RepeatedSamples, Samples
from onym.train.samples.mentions import MentionPairs
from onym.train.start import open_encoder
from onym.train.trainer import Dev, ModelTrainer
from onym.types import Document


@dataclass(frozen=True, slots=True)
class RowPairs:
    """Positive and negative pairs of a batch, as boolean masks (anchor rows, other rows) with a False diagonal."""

    positive: Tensor
    negative: Tensor

    def __post_init__(self) -> None:
        """Raise ValueError unless both masks are boolean, square and of the same shape."""
        shapes = {tuple(self.positive.shape), tuple(self.negative.shape)}
        if len(shapes) > 1 or self.positive.dim() != 2 or self.positive.shape[0] != self.positive.shape[1]:
            raise ValueError(f"pair masks must both have the shape (rows, rows), not {sorted(shapes)}")
        if self.positive.dtype != torch.bool or self.negative.dtype != torch.bool:
            raise ValueError("pair masks must be boolean")


def all_pairs(labels: Tensor, *, same: Tensor | None = None) -> RowPairs:
    """Return all pairs of rows: positive if the labels (rows,) are equal, else negative.

    Pairs in the mask `same` (rows, rows) are neither positive nor negative: they may mean the same concept although their
    labels differ.

    >>> pairs = all_pairs(torch.tensor([7, 7, 8]))
    >>> pairs.positive.nonzero().tolist(), pairs.negative.nonzero().tolist()
    ([[0, 1], [1, 0]], [[0, 2], [1, 2], [2, 0], [2, 1]])
    """
    is_equal = labels[:, None] == labels
    negative = ~is_equal
    positive = is_equal.fill_diagonal_(False)
    if same is None:
        return RowPairs(positive, negative)
    if same.shape != positive.shape or same.dtype != torch.bool:
        raise ValueError(
            f"`same` must be a boolean mask ({len(labels)}, {len(labels)}), not {tuple(same.shape)} of {same.dtype}"
        )
    return RowPairs(positive & ~same, negative & ~same)


def hard_pairs(embeddings: Tensor, labels: Tensor, *, margin: float = 0.2, same: Tensor | None = None) -> RowPairs:
    """Return the pairs in hard triplets: d(anchor, negative) <= d(anchor, positive) + margin.

    Needs        embeddings (rows, dim), not necessarily normalised; labels (rows,); optionally `same` as in `all_pairs`
    When to use  before `MultiSimilarityLoss`, with several names of every concept in a batch
    Related      SapBERT's equation 1 as in its code: `TripletMarginMiner(margin=0.2, type_of_triplets="all")` of
                 pytorch-metric-learning, on Euclidean distances of unit vectors

    It is enough to compare each positive with the nearest negative of its anchor, and each negative with the farthest positive.
    So no triplets are built, and time and memory are O(rows^2) instead of O(rows^3).

    >>> embeddings = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [-1.0, 0.0]])
    >>> pairs = hard_pairs(embeddings, torch.tensor([7, 7, 8, 9]))
    >>> pairs.positive.nonzero().tolist(), pairs.negative.nonzero().tolist()
    ([[0, 1], [1, 0]], [[0, 2], [1, 2], [1, 3]])
    """
    pairs = all_pairs(labels, same=same)
    with torch.no_grad(), torch.autocast(embeddings.device.type, enabled=False):
        unit = functional.normalize(at_least_fp32(embeddings))
        distances = torch.cdist(unit, unit)  # shape (rows, rows)
        nearest = distances.masked_fill(~pairs.negative, inf).amin(1, keepdim=True)
        farthest = distances.masked_fill(~pairs.positive, -inf).amax(1, keepdim=True)
        # Compare differences with the margin, like the reference code for each triplet, so that rounding gives the same ties.
        # Anchors without a negative or without a positive have infinite differences, so none of their pairs is hard.
        return RowPairs(
            pairs.positive & (nearest - distances <= margin),
            pairs.negative & (distances - farthest <= margin),
        )


@dataclass(frozen=True, slots=True)
class MultiSimilarityLoss:
    """Multi-similarity loss: pulls positive pairs together and pushes negative pairs apart, by cosine S.

    Optimises    log(1 + sum over positives of e^(-alpha (S - base))) / alpha
                 + log(1 + sum over negatives of e^(beta (S - base))) / beta, averaged over all rows as anchors
    Needs        embeddings (rows, dim), not necessarily normalised, and pairs of the rows
    When to use  for encoders, on `hard_pairs`; the defaults are those of SapBERT's code
    Related      SapBERT's equation 2, where alpha and beta are swapped; `MultiSimilarityLoss` of pytorch-metric-learning.
                 A pair counts once, even if it is in several hard triplets

    >>> pairs = all_pairs(torch.tensor([7, 7, 8]))
    >>> loss = MultiSimilarityLoss()
    >>> far, near = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> loss(far, pairs), loss(near, pairs)
    (tensor(0.9794), tensor(0.3173))
    """

    alpha: float = 1.0
    beta: float = 60.0
    base: float = 0.5

    def __post_init__(self) -> None:
        """Raise ConfigError unless alpha and beta are positive and finite; other values would invert or cancel the loss."""
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < inf:
                raise ConfigError("config-invalid", f"{name} is {value}", fix="set a finite number above 0")

    def __call__(self, embeddings: Tensor, pairs: RowPairs) -> Tensor:
        """Return the scalar loss of a batch, at least float32; 0 if there are no pairs."""
        if pairs.positive.shape[0] != len(embeddings):
            raise ValueError(f"the pair masks have {pairs.positive.shape[0]} rows, but there are {len(embeddings)} embeddings")
        # No autocast: the rounding error of a bfloat16 cosine, up to 0.002, times beta would be 0.1 in the exponent.
        with torch.autocast(embeddings.device.type, enabled=False):
            unit = functional.normalize(at_least_fp32(embeddings))
            over = unit @ unit.T - self.base  # shape (rows, rows)
            together = _log_one_more(-self.alpha * over, pairs.positive) / self.alpha
            apart = _log_one_more(self.beta * over, pairs.negative) / self.beta
            # The loss of a single triplet is 0, as in the implementation that SapBERT was trained with.
            is_single = (pairs.positive.sum() <= 1) & (pairs.negative.sum() <= 1)
            return (together + apart).mean().masked_fill(is_single, 0.0)


def _log_one_more(exponents: Tensor, mask: Tensor) -> Tensor:
    """Return log(1 + sum of e^exponents) over the pairs in the mask, as (rows,)."""
    # Set the diagonal, which is not in the mask, to 0: its e^0 is the 1 in log(1 + ...), without an additional column.
    return exponents.masked_fill(~mask, -inf).fill_diagonal_(0.0).logsumexp(1)


@dataclass(frozen=True, slots=True)
class ContrastiveLoss:
    """Contrastive (softmax) loss of each positive pair against the negatives of its anchor, by cosine S.

    Optimises    log(1 + sum over negatives of e^(scale (S - S of the positive))), averaged over the positives of a row, and
                 over all rows that have a positive
    Needs        embeddings (rows, dim), not necessarily normalised, and pairs of the rows
    When to use  for encoders pretrained with such a loss, as in sentence-transformers: a negative is pushed away only relative
                 to the positives, not below an absolute threshold
    Related      `MultiSimilarityLoss`, which pushes all negatives below one threshold; InfoNCE, NT-Xent, SupCon

    >>> pairs = all_pairs(torch.tensor([7, 7, 8]))
    >>> far, near = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> bool(ContrastiveLoss()(far, pairs) > ContrastiveLoss()(near, pairs))
    True
    """

    scale: float = 20.0

    def __post_init__(self) -> None:
        """Raise ConfigError unless scale is positive and finite; other values would invert or cancel the loss."""
        if not 0 < self.scale < inf:
            raise ConfigError("config-invalid", f"scale is {self.scale}", fix="set a finite number above 0")

    def __call__(self, embeddings: Tensor, pairs: RowPairs) -> Tensor:
        """Return the scalar loss of a batch, at least float32; 0 if there are no positive pairs."""
        with torch.autocast(embeddings.device.type, enabled=False):
            unit = functional.normalize(at_least_fp32(embeddings))
            scores = self.scale * unit @ unit.T  # shape (rows, rows)
            against = scores.masked_fill(~pairs.negative, -inf).logsumexp(1, keepdim=True)  # shape (rows, 1)
            losses = functional.softplus(against - scores).masked_fill(~pairs.positive, 0.0)
            counts = pairs.positive.sum(1)
            rows = losses.sum(1) / counts.clamp(min=1)
            return rows.sum() / (counts > 0).sum().clamp(min=1)


_log = logging.getLogger("onym.train")
_BUDGET = 2_048  # maximum tokens per forward pass on a CPU, including padding
_TOP = 10


def align(context: EncoderContext) -> AlignTrainer:
    """Train on pairs of names of a knowledge base; an interrupted run resumes."""
    return train_pairs(context, name_pairs(context))


def name_pairs(context: EncoderContext) -> PositivePairs:
    """Return the pairs of names of the knowledge base."""
    return PositivePairs(context.kb, count=0, seed=context.config.optim.seed, max_pairs=context.config.data.max_pairs)


def train_pairs(context: EncoderContext, pairs: RepeatedSamples[Positive]) -> AlignTrainer:
    """Train on positive pairs; shared by `align` and `match`."""
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
    """Add hard negatives to each mention: the wrong concepts that the model ranks highest before training."""
    hard = context.config.data.hard_negatives
    _log.info("embedding the knowledge base and linking the dataset, to mine hard negatives")
    encoder = Encoder.open(Path(context.config.start.model), context.settings, device=str(context.device))
    linker = DenseLinker(context.kb, encoder, open_derived_index(context.kb, encoder))
    return HardPairs(mentions, mine(linker, mentions, hard), context.kb, hard, context.config.optim.seed)


@dataclass(frozen=True)
class EncoderContext(TrainingContext[EncoderTrainingConfig]):
    """Inputs of an encoder training run."""

    @property
    def files(self) -> dict[str, bytes]:
        """All files except the weights: the tokenizer and the encoder settings."""
        return {FILE: self.reading.tokenizer.data, EncoderSettings.FILE: self.settings.to_bytes()}

    @cached_property
    def model(self) -> Any:
        """The model to train, in fp32."""
        start = self.config.start
        _log.info("opening the model %s", start.model)
        return self.on_device(open_encoder(Path(start.model), start))

    @cached_property
    def reading(self) -> TokenBatch:
        """The tokenisation, the same as at inference."""
        start = self.config.start
        own = read_settings(Path(start.model))
        settings = own.update(pooling=start.pooling, similarity=start.similarity, length=start.length)
        return Encoder(self.model, self.tokenizer, settings).reading

    @property
    def settings(self) -> EncoderSettings:
        """Pooling, similarity and length of the encoder."""
        return self.reading.settings

    @cached_property
    def dev(self) -> EncoderDev | None:
        """The evaluation on dev; None if it is disabled or there is no dataset."""
        config = self.config.dev
        if self.dataset is None or not config.mentions:
            return None
        _log.info("preparing the evaluation on %s", config.split)
        kb, documents = self.dev_kb, dev_documents(self.dataset.documents(config.split), config.mentions)
        return EncoderDev(documents, kb, self.reading.tokenizer, self.settings, dev_names(documents, kb, config.names))


@dataclass(frozen=True, slots=True)
class PairCollate:
    """Collate function for positive pairs.

    *Shape:* for `n` pairs, `input_ids` and `attention_mask` (2n, tokens), `labels` (2n,), and the mask `same` (2n, 2n) of rows
    that must not be negatives of each other although their concepts differ.
    """

    reading: TokenBatch
    kb: KnowledgeBase

    def __call__(self, positives: Sequence[Positive]) -> Batch:
        """Return the pairs as one batch: all first strings, then all second strings."""
        texts = [each.first for each in positives] + [each.second for each in positives]
        ids, mask = self.reading.rows(self.reading.tokenizer.ids_of(texts), np.arange(len(texts)))
        meant = {"labels": labels_of(positives), "same": same_of(positives, self.kb)}
        read = {"input_ids": ids, "attention_mask": mask}
        return {name: torch.from_numpy(values) for name, values in (read | meant).items()}


class AlignTrainer(ModelTrainer):
    """Trainer of an encoder on pairs, with in-batch negatives per device; gradient accumulation does not add negatives."""

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
        """Return the loss of a batch, summed over its rows as anchors."""
        labels = inputs["labels"]
        vectors = self.vectors(model, inputs["input_ids"], inputs["attention_mask"])
        return self.loss(vectors, labels, inputs["same"]) * len(labels)

    def items(self, inputs: Batch) -> int:
        """Count rows."""
        return len(inputs["labels"])

    def vectors(self, model: Any, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the embeddings of rows. On a CPU, rows of similar length are encoded together, which is faster.

        *Shape:* ids and mask (rows, tokens) -> (rows, dim).
        """
        if ids.device.type != "cpu" or self.accelerator.num_processes > 1 or self.settings.pooling == "mean-all":
            return vectors_of(model, ids, mask, self.settings)  # with DDP or FSDP, a step must have only one forward pass
        lengths = mask.sum(1)
        order = [torch.from_numpy(rows) for rows in batches(lengths.numpy(), _BUDGET)]
        found = [self._part(model, ids[rows], mask[rows], int(lengths[rows[0]])) for rows in order]
        return torch.cat(found)[torch.cat(order).argsort()]

    def _part(self, model: Any, ids: Tensor, mask: Tensor, length: int) -> Tensor:
        return vectors_of(model, ids[:, :length], mask[:, :length], self.settings)


def _loss(config: EncoderLossConfig) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Return the loss as a function of the vectors, their labels, and the mask `same` of pairs that are not negatives."""
    if config.kind == "contrastive":
        contrastive = ContrastiveLoss(config.scale)
        return lambda vectors, labels, same: contrastive(vectors, all_pairs(labels, same=same))
    similarity = MultiSimilarityLoss(config.alpha, config.beta, config.base)
    return lambda vectors, labels, same: similarity(vectors, hard_pairs(vectors, labels, margin=config.margin, same=same))


class EncoderDev:
    """Evaluation on a fixed set of mentions: `dev_r1` and `dev_r5` are any-id recall in percent.

    `names` are the ids of the candidate names; None means all. Fewer names make the task easier, so the scores are higher than
    with `onym evaluate`; use them only to compare models.
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
        """Return the scores of a model without changing it."""
        encoder = Encoder(in_precision(model, "auto"), self._tokenizer, self._settings)
        linker = DenseLinker(self._kb, encoder, index_in_memory(self._kb, encoder, self._names))
        return dev_recall(linker, self._documents, self._known, top_k=_TOP)
