"""The contrastive loss over a batch: each positive pair against all negatives of its first row."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor
from torch.nn import functional

from onym.errors import ConfigError
from onym.train.losses.log_probs import at_least_fp32
from onym.train.losses.miner import RowPairs


@dataclass(frozen=True, slots=True)
class ContrastiveLoss:
    """Makes a positive pair likelier than the negatives of its anchor, by their cosine.

    Optimises    log(1 + sum over negatives of e^(scale (S - S of the positive))), averaged over the positives of a row, and
                 over all rows that have one
    Needs        embeddings (rows, width), of any length, and pairs of the rows
    When to use  for encoders that were made by such a loss, as those of sentence-transformers: what is near but different is
                 pushed away only as far as it is nearer than what is the same
    Related      `MultiSimilarityLoss`, which pushes all negatives below one threshold; InfoNCE, NT-Xent, SupCon

    >>> from onym.train.losses.miner import all_pairs
    >>> pairs = all_pairs(torch.tensor([7, 7, 8]))
    >>> far, near = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> bool(ContrastiveLoss()(far, pairs) > ContrastiveLoss()(near, pairs))
    True
    """

    scale: float = 20.0

    def __post_init__(self) -> None:
        """Refuse what would push the wrong way, or not at all."""
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
