"""Numbers that are none: a model whose weights or answers hold one is refused, for every comparison with it is false."""

from __future__ import annotations

import torch
from torch import Tensor

from onym.errors import InputError


def require_finite(values: Tensor, where: str = "") -> Tensor:
    """Return values that are all finite, and whose sum is; others are of a damaged or hostile model.

    The sum is looked at, which takes a tenth of the time: a number that is infinite or none makes the sum so.

    >>> require_finite(torch.tensor([1.0, torch.nan]))
    Traceback (most recent call last):
    onym.errors.InputError: [model-not-finite] the model computes with numbers that are infinite or none...
    """
    if not torch.isfinite(values.sum()):
        what = "the model computes with numbers that are infinite or none"
        raise InputError("model-not-finite", what, where=where, fix="fetch the model again, or use another one")
    return values
