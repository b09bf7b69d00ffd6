"""Losses of embeddings: which pairs of a batch are hard (SapBERT), the multi-similarity and the contrastive loss.

Distances and cosines are float32 at least.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor
from torch.nn import functional

from onym.errors import ConfigError
from onym.train.losses import at_least_fp32


@dataclass(frozen=True, slots=True)
class RowPairs:
    """Pairs of the rows of a batch as two masks (rows, rows): the first row of a pair is the anchor, no row is its own pair."""

    positive: Tensor
    negative: Tensor

    def __post_init__(self) -> None:
        """Refuse masks that torch would broadcast, or take for numbers."""
        shapes = {tuple(self.positive.shape), tuple(self.negative.shape)}
        if len(shapes) > 1 or self.positive.dim() != 2 or self.positive.shape[0] != self.positive.shape[1]:
            raise ValueError(f"masks of pairs have one shape (rows, rows), not {sorted(shapes)}")
        if self.positive.dtype != torch.bool or self.negative.dtype != torch.bool:
            raise ValueError("masks of pairs are boolean")


def all_pairs(labels: Tensor, *, same: Tensor | None = None) -> RowPairs:
    """Return every pair of rows: positive where the labels (rows,) are equal, else negative.

    The pairs in `same`, a mask (rows, rows), are neither: rows that may mean the same although their labels differ.

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
            f"`same` of {len(labels)} rows is a boolean mask of all pairs, not {tuple(same.shape)} of {same.dtype}"
        )
    return RowPairs(positive & ~same, negative & ~same)


def hard_pairs(embeddings: Tensor, labels: Tensor, *, margin: float = 0.2, same: Tensor | None = None) -> RowPairs:
    """Return the pairs that stand in a hard triplet: whose negative is not farther from the anchor than the positive + margin.

    Needs        embeddings (rows, width), of any length; labels (rows,); perhaps `same` as in `all_pairs`
    When to use  before `MultiSimilarityLoss`, with several names of every concept in a batch
    Related      SapBERT's equation 1 as its code has it: `TripletMarginMiner(margin=0.2, type_of_triplets="all")` of
                 pytorch-metric-learning, on Euclidean distances of embeddings of length 1

    A positive is in a hard triplet if it is in one with the nearest negative of its anchor, and a negative if it is in one with
    the farthest positive. So no triplet is made: time and memory are (rows, rows), not (rows, rows, rows).

    >>> embeddings = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [-1.0, 0.0]])
    >>> pairs = hard_pairs(embeddings, torch.tensor([7, 7, 8, 9]))
    >>> pairs.positive.nonzero().tolist(), pairs.negative.nonzero().tolist()
    ([[0, 1], [1, 0]], [[0, 2], [1, 2], [1, 3]])
    """
    pairs = all_pairs(labels, same=same)
    with torch.no_grad(), torch.autocast(embeddings.device.type, enabled=False):
        unit = functional.normalize(at_least_fp32(embeddings))
        distances = torch.cdist(unit, unit)  # (rows, rows)
        nearest = distances.masked_fill(~pairs.negative, inf).amin(1, keepdim=True)
        farthest = distances.masked_fill(~pairs.positive, -inf).amax(1, keepdim=True)
        # As a difference, not `distance + margin`: rounding keeps the order of differences, so that ties fall as they do for
        # triplets one by one. Without a negative or a positive it is infinite, and nothing is hard.
        return RowPairs(
            pairs.positive & (nearest - distances <= margin),
            pairs.negative & (distances - farthest <= margin),
        )


@dataclass(frozen=True, slots=True)
class MultiSimilarityLoss:
    """Draws the rows of positive pairs together and pushes those of negative ones apart, by their cosine.

    Optimises    log(1 + sum over positives of e^(-alpha (S - base))) / alpha
                 + log(1 + sum over negatives of e^(beta (S - base))) / beta, averaged over all rows as anchors
    Needs        embeddings (rows, width), of any length, and pairs of the rows
    When to use  for encoders, over `hard_pairs`; the defaults are those of SapBERT's code
    Related      SapBERT's equation 2, in which alpha and beta have changed places; `MultiSimilarityLoss` of
                 pytorch-metric-learning: a pair counts once, in however many hard triplets it stands

    >>>
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
        """Reject values that would push the wrong way, or not at all."""
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < inf:
                raise ConfigError("config-invalid", f"{name} is {value}", fix="give a number that is more than 0")

    def __call__(self, embeddings: Tensor, pairs: RowPairs) -> Tensor:
        """Return the loss () of a batch, float32 at least; 0 where there are no pairs."""
        if pairs.positive.shape[0] != len(embeddings):
            raise ValueError(f"the pairs are of {pairs.positive.shape[0]} rows, and there are {len(embeddings)} embeddings")
        # In bfloat16 a cosine is wrong by up to 0.002, which beta makes 0.1 in the exponent.
        with torch.autocast(embeddings.device.type, enabled=False):
            unit = functional.normalize(at_least_fp32(embeddings))
            over = unit @ unit.T - self.base  # (rows, rows)
            together = _log_one_more(-self.alpha * over, pairs.positive) / self.alpha
            apart = _log_one_more(self.beta * over, pairs.negative) / self.beta
            # A single triplet is not learned from: so it is in the loss with which SapBERT was trained.
            is_single = (pairs.positive.sum() <= 1) & (pairs.negative.sum() <= 1)
            return (together + apart).mean().masked_fill(is_single, 0.0)


def _log_one_more(exponents: Tensor, mask: Tensor) -> Tensor:
    """Return log(1 + sum of e^exponents) (rows,) over the pairs of the mask."""
    # The one more is e^0 on the diagonal, where there is no pair: no column has to be joined to the matrix.
    return exponents.masked_fill(~mask, -inf).fill_diagonal_(0.0).logsumexp(1)


@dataclass(frozen=True, slots=True)
class ContrastiveLoss:
    """Makes a positive pair likelier than the negatives of its anchor, by their cosine.

    Optimises    log(1 + sum over negatives of e^(scale (S - S of the positive))), averaged over the positives of a row, and
                 over all rows that have one
    Needs        embeddings (rows, width), of any length, and pairs of the rows
    When to use  for encoders that were made by such a loss, as those of sentence-transformers: what is near but different is
                 pushed away only as far as it is nearer than what is the same
    Related      `MultiSimilarityLoss`, which pushes all negatives below one threshold; InfoNCE, NT-Xent, SupCon

    >>>
    >>> pairs = all_pairs(torch.tensor([7, 7, 8]))
    >>> far, near = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> bool(ContrastiveLoss()(far, pairs) > ContrastiveLoss()(near, pairs))
    True
    """

    scale: float = 20.0

    def __post_init__(self) -> None:
        """Reject values that would push the wrong way, or not at all."""
        if not 0 < self.scale < inf:
            raise ConfigError("config-invalid", f"scale is {self.scale}", fix="give a number that is more than 0")

    def __call__(self, embeddings: Tensor, pairs: RowPairs) -> Tensor:
        """Return the loss () of a batch, float32 at least; 0 where there are no positive pairs."""
        with torch.autocast(embeddings.device.type, enabled=False):
            unit = functional.normalize(at_least_fp32(embeddings))
            scores = self.scale * unit @ unit.T  # (rows, rows)
            against = scores.masked_fill(~pairs.negative, -inf).logsumexp(1, keepdim=True)  # (rows, 1)
            losses = functional.softplus(against - scores).masked_fill(~pairs.positive, 0.0)
            counts = pairs.positive.sum(1)
            rows = losses.sum(1) / counts.clamp(min=1)
            return rows.sum() / (counts > 0).sum().clamp(min=1)
