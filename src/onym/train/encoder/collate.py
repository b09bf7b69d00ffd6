"""Positive pairs as tensors: all first strings, then all second ones, tokenised as by the encoder, with their concepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from onym.kb import KnowledgeBase
from onym.models.encoder import Reading
from onym.train.samples.base import Batch, Positive
from onym.train.samples.same import labels_of, same_of


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
