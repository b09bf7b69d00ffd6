"""A plain AdamW implementation, to check the steps of a trainer."""

from __future__ import annotations

import re
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from onym.train.configs import OptimConfig


class AdamWByHand:
    """Loshchilov and Hutter's algorithm 2 with gradient clipping, without weight decay of biases and norms."""

    def __init__(self, settings: OptimConfig) -> None:
        self.settings, self.taken = settings, 0
        self.first: dict[str, Tensor] = {}
        self.second: dict[str, Tensor] = {}

    @torch.no_grad()
    def step(self, model: Any, rate: float) -> None:
        """Update the weights with their gradients."""
        self.taken += 1
        (one, two), settings = self.settings.betas, self.settings
        named = dict(model.named_parameters())
        norm = sqrt(sum(float(parameter.grad.square().sum()) for parameter in named.values()))
        for name, parameter in named.items():
            gradient = parameter.grad * min(1.0, settings.max_grad_norm / (norm + 1e-6))
            first = one * self.first.get(name, 0) + (1 - one) * gradient
            second = two * self.second.get(name, 0) + (1 - two) * gradient**2
            self.first[name], self.second[name] = first, second
            if not re.search(r"bias$|norm", name, re.IGNORECASE):
                parameter.mul_(1 - rate * settings.weight_decay)
            mean, square = first / (1 - one**self.taken), second / (1 - two**self.taken)
            parameter.sub_(rate * mean / (square.sqrt() + settings.epsilon))
