"""From the vectors of tokens to the vector of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torch import Tensor

Pooling = Literal["cls", "mean", "mean-all"]
"""The first token's vector; the mean over the text's tokens; or SapBERT's `mean_all_tok`, where padding counts as well."""


def pooled(hidden: Tensor, mask: Tensor, pooling: Pooling) -> Tensor:
    """Return one vector for each text.

    *Shape:* hidden (texts, tokens, width), mask (texts, tokens) -> (texts, width). For `mean-all` the texts have to be padded
    to one fixed length, else the vector of a text would depend on the others.

    >>> import torch
    >>> hidden, mask = torch.tensor([[[2.0], [4.0], [9.0]]]), torch.tensor([[1, 1, 0]])
    >>> [pooled(hidden, mask, way).item() for way in ("cls", "mean", "mean-all")]
    [2.0, 3.0, 5.0]
    """
    if pooling == "cls":
        return hidden[:, 0]
    if pooling == "mean-all":
        return hidden.mean(1)
    weights = mask.unsqueeze(-1).to(hidden.dtype)  # (texts, tokens, 1)
    return (hidden * weights).sum(1) / weights.sum(1)
