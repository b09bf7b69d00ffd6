"""What the fitted parts of a calibration share: they are frozen, and what a file says of them is checked."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict

from onym.errors import InputError

Floats: TypeAlias = npt.NDArray[np.float64]
CHECKED = ConfigDict(extra="forbid", allow_inf_nan=False)


def require(is_sound: object, what: str, fix: str = "fit it again") -> None:
    """Refuse values that make no sense.

    >>> require(False, "a calibration has no knots")
    Traceback (most recent call last):
    onym.errors.InputError: [calibration-invalid] a calibration has no knots...
    """
    if not is_sound:
        raise InputError("calibration-invalid", what, fix=fix)
