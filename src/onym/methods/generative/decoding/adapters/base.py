"""The interface between models and the search. It exposes the decoder's layers, so that attention can run over a token tree.

The tokens of all mentions are the rows of one matrix (rows, width), so token-wise layers compute no padding. Attention is
implemented by the search. `Heads` have the shape (rows, heads, head width).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - the usual name

Heads = Tensor
Keys = list[tuple[Tensor, Tensor]]
"""For each layer, keys and values of the encoder states: (mentions, heads, source tokens, head width)."""
Norm = Callable[[Tensor], Tensor]
"""Layer normalisation."""


class Adapter(Protocol):
    """Interface of a model family's decoder, layer by layer."""

    layers: int
    heads: int
    head_width: int
    vocabulary: int
    start: int
    eos: int
    pad: int
    max_positions: int
    """Maximum length of a decoder sequence, in tokens."""
    scale: float
    """Factor of attention scores before the softmax."""
    dtype: torch.dtype
    device: torch.device

    def encode(self, ids: Tensor, mask: Tensor) -> Keys:
        """Return the cross-attention keys and values of padded sources (mentions, source tokens)."""

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Return the states of tokens at positions, before the first layer."""

    def self_query(self, layer: int, states: Tensor) -> tuple[Heads, Heads, Heads]:
        """Return the queries, keys and values of self-attention."""

    def after_self(self, layer: int, states: Tensor, attended: Tensor) -> Tensor:
        """Return the states after self-attention; `attended` is (rows, width)."""

    def cross_query(self, layer: int, states: Tensor) -> Heads:
        """Return the queries of cross-attention."""

    def after_cross(self, layer: int, states: Tensor, attended: Tensor) -> Tensor:
        """Return the states after cross-attention and the feed-forward block, the output of the layer."""

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits of the whole vocabulary: (rows, vocabulary)."""

    def bias(self, distance: Tensor) -> Tensor | None:
        """Return the self-attention bias for query-key distances; None means no bias. *Shape:* (...,) -> (..., heads)."""


_ROWS = 160  # rows (32 mentions with 5 hypotheses) for which oneDNN optimises the layout


class Projection:
    """One or more linear layers with the same input, computed as a single matrix product.

    In bf16 on a CPU, the weights are converted to oneDNN's memory layout once, instead of in every product.
    """

    __slots__ = ("_bias", "_packed", "_weight")

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self._weight = weight
        self._bias = bias
        self._packed = _pack_weight(weight)

    @classmethod
    def join(cls, parts: Sequence[Any]) -> Projection:
        """Concatenate linear modules; a missing bias is replaced by zeros if another module has a bias."""
        weight = parts[0].weight if len(parts) == 1 else torch.cat([part.weight for part in parts])
        if all(part.bias is None for part in parts):
            return cls(weight.detach(), None)
        zeros = [torch.zeros_like(part.weight[:, 0]) if part.bias is None else part.bias for part in parts]
        return cls(weight.detach(), (zeros[0] if len(parts) == 1 else torch.cat(zeros)).detach())

    def __call__(self, states: Tensor) -> Tensor:
        """Apply the layers to states."""
        if self._packed is None:
            return F.linear(states, self._weight, self._bias)
        found: Tensor = torch.ops.mkldnn._linear_pointwise(states, self._packed, self._bias, "none", [], "")  # noqa: SLF001
        return found


def _pack_weight(weight: Tensor) -> Tensor | None:
    """Return a weight in oneDNN's memory layout, or None if unsupported."""
    is_usual = weight.dtype == torch.bfloat16 and weight.device.type == "cpu" and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not is_usual or not hasattr(torch.ops.mkldnn, "_reorder_linear_weight"):
        return None
    with torch.inference_mode():
        packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), _ROWS)  # noqa: SLF001
    return packed


def cross_keys(states: Tensor, projection: Projection, layers: int, heads: int) -> Keys:
    """Compute the cross-attention keys and values of all layers from encoder states; `projection` has all their weights."""
    both = projection(states)  # shape (mentions, source tokens, layers * 2 * width)
    width = both.shape[-1] // (layers * 2 * heads)
    by_layer = both.view(*both.shape[:2], layers, 2, heads, width).permute(2, 3, 0, 4, 1, 5)
    return [(layer[0].contiguous(), layer[1].contiguous()) for layer in by_layer]
