"""An encoder whose layers multiply eight-bit integers: faster on CPUs that have instructions for them, as most since 2019.

Weights have one scale for each output, made when the model is opened. What a layer reads has one scale for each token, made
when it is read: encoders have a few very large values in some tokens, and with one scale for a whole batch the others would be
rounded away. torch's own dynamic quantisation does that, and leaves torch besides; its product of int8 matrices is what stays.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from onym.errors import ConfigError

_LARGEST = 127.0
_TINY = 1e-8  # the scale of a token whose values are all zero


class Int8Linear(nn.Module):
    """A linear layer in int8. *Shape:* (..., inputs) -> (..., outputs), fp32.

    >>> layer = nn.Linear(32, 16)
    >>> texts = torch.randn(8, 32)
    >>> bool((Int8Linear(layer)(texts) - layer(texts)).abs().max() < 0.1)
    True
    """

    scales: Tensor

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        weight = layer.weight.detach().float()
        scales = _scales(weight)
        rounded = (weight / scales).round().to(torch.int8).t().contiguous()
        self.weight = nn.Parameter(rounded, requires_grad=False)  # (inputs, outputs)
        self.bias = None if layer.bias is None else nn.Parameter(layer.bias.detach().float(), requires_grad=False)
        self.register_buffer("scales", scales.squeeze(1), persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        """Return what the layer makes of values."""
        rows = values.reshape(-1, values.shape[-1])
        scales = _scales(rows)
        rounded = (rows * scales.reciprocal()).round_().to(torch.int8)
        found = torch._int_mm(rounded, self.weight).float().mul_(scales)  # noqa: SLF001
        found = found.mul_(self.scales) if self.bias is None else torch.addcmul(self.bias, found, self.scales)
        return found.view(*values.shape[:-1], -1)


def in_int8(model: Any) -> Any:
    """Turn the linear layers of an encoder that is open for inference into those of int8; the rest stays in fp32."""
    if model.device.type != "cpu":
        raise ConfigError("device-unavailable", "int8 is for CPUs", fix="use --device cpu, or bf16")
    for module in list(model.modules()):
        for name, layer in list(module.named_children()):
            if isinstance(layer, nn.Linear):
                setattr(module, name, Int8Linear(layer))
    return model


def precision_of(model: Any) -> str:
    """Return the precision that a model computes in, to be told beside results."""
    is_int8 = any(isinstance(module, Int8Linear) for module in model.modules())
    return "int8" if is_int8 else str(model.dtype).removeprefix("torch.")


def _scales(rows: Tensor) -> Tensor:
    """Return for each row what its largest value is a multiple of. *Shape:* (rows, columns) -> (rows, 1)."""
    return rows.abs().amax(1, keepdim=True).clamp_min_(_TINY).div_(_LARGEST)
