"""What the search wants of a model: its decoder layer by layer, so that attention can run over a tree of tokens.

Rows are tokens of any mention, all in one matrix (rows, width): the parts of a layer that see one token alone see no padding.
Attention is the search's own. `Heads` are (rows, heads, width of a head).
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

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
