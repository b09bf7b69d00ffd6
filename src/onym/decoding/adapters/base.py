"""What the search wants of a model: its decoder layer by layer, so that attention can run over a tree of tokens.

Rows are tokens of any mention, all in one matrix (rows, width): the parts of a layer that see one token alone see no padding.
Attention is the search's own. `Heads` are (rows, heads, width of a head).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

Heads = Tensor
Keys = list[tuple[Tensor, Tensor]]
"""For each layer, keys and values of the encoder's states: (mentions, heads, source tokens, width of a head)."""


class Adapter(Protocol):
    """A model family."""

    layers: int
    heads: int
    head_width: int
    vocabulary: int
    start: int
    eos: int
    pad: int
    max_positions: int
    """The most positions that a decoder sequence may have."""
    scale: float
    """By what attention scores are multiplied before softmax."""
    dtype: torch.dtype
    device: torch.device

    def encode(self, ids: Tensor, mask: Tensor) -> Keys:
        """Return the keys and values of padded sources (mentions, source tokens), each computed once for a mention."""

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Return the states of tokens at positions, before the first layer."""

    def self_query(self, layer: int, states: Tensor) -> tuple[Heads, Heads, Heads]:
        """Return queries, keys and values of self-attention."""

    def after_self(self, layer: int, states: Tensor, attended: Tensor) -> Tensor:
        """Return the states after self-attention; `attended` is (rows, width)."""

    def cross_query(self, layer: int, states: Tensor) -> Heads:
        """Return the queries to the encoder's keys."""

    def after_cross(self, layer: int, states: Tensor, attended: Tensor) -> Tensor:
        """Return the states after cross-attention and the feed-forward part: the end of the layer."""

    def logits(self, states: Tensor) -> Tensor:
        """Return the scores of the whole vocabulary, not yet normalised: (rows, vocabulary)."""

    def bias(self, distance: Tensor) -> Tensor | None:
        """Return what is added to self-attention scores for distances query - key (...,), as (..., heads); None is nothing."""


_ROWS = 160  # of a usual product: 32 mentions and 5 hypotheses


class Projection:
    """One or more linear parts with the same input, as a single product.

    In bf16 on a CPU the weights are brought into the order of oneDNN's kernels once, and not in every product.
    """

    __slots__ = ("_bias", "_packed", "_weight")

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self._weight = weight
        self._bias = bias
        self._packed = _pack_weight(weight)

    @classmethod
    def join(cls, parts: Sequence[Any]) -> Projection:
        """Join linear modules; those without a bias have one of zeros if another has one."""
        weight = parts[0].weight if len(parts) == 1 else torch.cat([part.weight for part in parts])
        if all(part.bias is None for part in parts):
            return cls(weight.detach(), None)
        zeros = [torch.zeros_like(part.weight[:, 0]) if part.bias is None else part.bias for part in parts]
        return cls(weight.detach(), (zeros[0] if len(parts) == 1 else torch.cat(zeros)).detach())

    def __call__(self, states: Tensor) -> Tensor:
        """Multiply."""
        if self._packed is None:
            return F.linear(states, self._weight, self._bias)
        found: Tensor = torch.ops.mkldnn._linear_pointwise(states, self._packed, self._bias, "none", [], "")  # noqa: SLF001
        return found


def _pack_weight(weight: Tensor) -> Tensor | None:
    """Return a weight in oneDNN's own order, or None where that is not to be had."""
    is_usual = weight.dtype == torch.bfloat16 and weight.device.type == "cpu" and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not is_usual or not hasattr(torch.ops.mkldnn, "_reorder_linear_weight"):
        return None
    with torch.inference_mode():
        packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), _ROWS)  # noqa: SLF001
    return packed


def cross_keys(states: Tensor, projection: Projection, layers: int, heads: int) -> Keys:
    """Return keys and values of all layers from the encoder's states, in one product; `projection` has both of each layer."""
    both = projection(states)  # (mentions, source tokens, layers * 2 * width)
    width = both.shape[-1] // (layers * 2 * heads)
    by_layer = both.view(*both.shape[:2], layers, 2, heads, width).permute(2, 3, 0, 4, 1, 5)
    return [(layer[0].contiguous(), layer[1].contiguous()) for layer in by_layer]


class Norm:
    """Layer normalisation, or none at all."""

    __slots__ = ("_module",)

    def __init__(self, module: Any) -> None:
        self._module = module

    @classmethod
    def of(cls, module: Any) -> Norm:
        """Take a module of transformers; None leaves the states as they are."""
        return cls(module)

    def __call__(self, states: Tensor) -> Tensor:
        """Normalise each row."""
        if self._module is None:
            return states
        found: Tensor = self._module(states)
        return found
