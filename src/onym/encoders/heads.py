"""What stands on the vectors of a document's tokens: the vector of a mention, and scores of where mentions are.

Bhowmik et al.: a given mention is `W[h_i;h_j]+b` of its ends, one that is found is the mean of its tokens (section 3); a span's
score is `w_s·h_i + w_e·h_j + Σ w_m·h_q` (equation 4); or each token has a tag. With a hidden layer a span's score is
`V·gelu(W_s h_i + W_e h_j + W_m mean h_q)`, where start and end know of each other. A span has a score for each label.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

Represent = Literal["ends", "mean"]
Detect = Literal["none", "spans", "tags"]
OUTSIDE, BEGIN, INSIDE = range(3)
_RARE = -5.0  # the logit of a span that is a mention: about one in 150 is


class Heads(nn.Module):
    """The layers of one model; those that it does not use have no weights. `width` is that of tokens, `dim` of names.

    Spans have a score for each of so many `labels`, through a layer of `hidden` units where that is not 0.
    """

    def __init__(self, width: int, dim: int, represent: Represent, detect: Detect, *, labels: int = 1, hidden: int = 0) -> None:
        super().__init__()
        self.represent, self.detect, self.dim = represent, detect, dim
        if represent == "ends":
            self.ends = nn.Linear(2 * width, dim)
        elif width != dim:
            self.mean = nn.Linear(width, dim)
        if detect == "spans":
            self.span = nn.Linear(width, 3 * (hidden or labels))  # at the start, at the end, inside; the bias is that of all
            if hidden:
                self.label = nn.Linear(hidden, labels)
        elif detect == "tags":
            self.tag = nn.Linear(width, 3)
        self._begin(width, dim)

    @torch.no_grad()
    def _begin(self, width: int, dim: int) -> None:
        """Begin with the mean of both ends where possible, as an encoder of names would take; and with few mentions."""
        if hasattr(self, "label"):
            self.label.bias.fill_(_RARE)
        if self.represent == "ends" and width == dim:
            half = torch.eye(width) / 2
            self.ends.weight.copy_(torch.cat([half, half], 1))
            self.ends.bias.zero_()

    def vectors(self, states: Tensor, firsts: Tensor, lasts: Tensor) -> Tensor:
        """Return the vectors of spans of one text, each from its first token to before its last.

        *Shape:* states (tokens, width), firsts and lasts (spans,) -> (spans, dim).
        """
        if self.represent == "ends":
            return _applied(self.ends, torch.cat([states[firsts], states[lasts - 1]], 1))
        sums = _summed(states)
        means = (sums[lasts] - sums[firsts]) / (lasts - firsts).unsqueeze(1)
        return _applied(self.mean, means) if hasattr(self, "mean") else means

    def span_scores(self, states: Tensor, firsts: Tensor, lasts: Tensor) -> Tensor:
        """Return how likely each span is a mention of each label, as logits. *Shape:* as of `vectors` -> (spans, labels)."""
        start, end, inside = _applied(self.span, states).chunk(3, 1)  # (tokens, labels), or (tokens, hidden)
        sums = _summed(inside)
        within = sums[lasts] - sums[firsts]
        if not hasattr(self, "label"):
            return start[firsts] + end[lasts - 1] + within
        means = within / (lasts - firsts).unsqueeze(1)
        return _applied(self.label, nn.functional.gelu(start[firsts] + end[lasts - 1] + means))

    def tag_scores(self, states: Tensor) -> Tensor:
        """Return the scores of each token's tags, as logits. *Shape:* (tokens, width) -> (tokens, 3)."""
        return _applied(self.tag, states)


def _applied(layer: nn.Linear, states: Tensor) -> Tensor:
    """Return what a layer makes of vectors, in their precision, whatever its own."""
    return nn.functional.linear(states, layer.weight.to(states.dtype), layer.bias.to(states.dtype))


def _summed(values: Tensor) -> Tensor:
    """Return the sums of all rows before each row, and of all rows. *Shape:* (rows, width) -> (rows + 1, width)."""
    return torch.cat([values.new_zeros(1, values.shape[1]), values.cumsum(0)])
