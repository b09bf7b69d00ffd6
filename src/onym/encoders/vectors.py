"""From rows of tokens to vectors: one piece of code for a model that is asked and for one that is trained."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn.functional import normalize

from onym.encoders.pooling import pooled
from onym.encoders.settings import EncoderSettings


def vectors_of(model: Any, ids: Tensor, mask: Tensor, settings: EncoderSettings) -> Tensor:
    """Return the vectors of padded texts, in fp32 at least whatever the model's precision.

    *Shape:* ids and mask (texts, tokens) -> (texts, width).
    """
    hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
    hidden = hidden if hidden.dtype.itemsize > 4 else hidden.float()
    return comparable(pooled(hidden, mask, settings.pooling), settings)


def comparable(vectors: Tensor, settings: EncoderSettings) -> Tensor:
    """Return vectors so that their product is their similarity. *Shape:* (texts, width) -> the same."""
    return normalize(vectors, dim=-1) if settings.similarity == "cosine" else vectors
