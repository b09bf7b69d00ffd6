"""What an index is made of besides a knowledge base: something that makes vectors of names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt


class VectorSource(Protocol):
    """An encoder: the same digest means the same vectors of the same texts, but for rounding in another precision."""

    width: int
    precision: str

    @property
    def digest(self) -> str:
        """The identity of the vectors."""

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the vectors of texts; *shape:* (texts, width)."""
