"""Numbers that are none: a model whose weights or answers hold one is refused, for every comparison with it is false."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from onym.errors import InputError

T = TypeVar("T", bound=Any)


def require_finite(values: T, where: str = "") -> T:
    """Return values, of torch or NumPy, that are all finite, and whose sum is; others are of a damaged or hostile model.

    The sum is looked at, which takes a tenth of the time: a number that is infinite or none makes the sum so.

    >>> require_finite(np.array([1.0, np.nan]))
    Traceback (most recent call last):
    onym.errors.InputError: [model-not-finite] the model computes with numbers that are infinite or none...
    """
    with np.errstate(all="ignore"):
        total = values.sum().item()
    if not math.isfinite(total):
        raise not_finite(where)
    return values


def not_finite(where: str = "") -> InputError:
    """Return the error of a model whose numbers are infinite or none."""
    what = "the model computes with numbers that are infinite or none"
    return InputError("model-not-finite", what, where=where, fix="fetch the model again, or use another one")
