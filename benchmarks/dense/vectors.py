"""Encoders for measuring: one that draws its vectors, and one that was asked before."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Drawn:
    """Makes random vectors of the length 1: the same ones whenever the same texts are encoded together."""

    precision = "float32"

    def __init__(self, width: int) -> None:
        self.width = width
        self.digest = f"drawn-{width}"

    def encode(self, texts: Sequence[str]) -> Vectors:
        rng = np.random.default_rng(zlib.crc32(texts[0].encode()) if texts else 0)
        found = rng.standard_normal((len(texts), self.width), dtype=np.float32)
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        return found


class Known:
    """Knows the vectors of some names."""

    def __init__(self, names: Sequence[str], vectors: Vectors, precision: str) -> None:
        self.precision, self.width, self.digest = precision, vectors.shape[1], "known"
        self._rows, self._vectors = {name: row for row, name in enumerate(names)}, vectors

    def encode(self, texts: Sequence[str]) -> Vectors:
        return self._vectors[[self._rows[text] for text in texts]]


def near(vectors: Vectors, rng: np.random.Generator) -> Vectors:
    """Return vectors of the length 1 that are somewhere near others."""
    noise = rng.standard_normal(vectors.shape, dtype=np.float32) / np.sqrt(vectors.shape[1], dtype=np.float32)
    found = vectors + noise.astype(np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)
