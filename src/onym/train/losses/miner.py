"""Which pairs of a batch are hard enough to learn from: SapBERT, section 2, "Online Hard Pairs Mining"."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor
from torch.nn import functional

from onym.train.losses.log_probs import at_least_fp32


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
