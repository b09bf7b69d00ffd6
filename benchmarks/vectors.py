"""Names, mentions and encoders for measuring dense linking."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from benchmarks.report import data_folder
from benchmarks.results.tasks import open_kb
from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.text.normal import normal_name

SEED = 13
_CORPORA = {
    "bc5cdr/CDR_{}Set.PubTator.txt.gz": ("Training", "Development", "Test"),
    "ncbi_disease/NCBI{}set_corpus.txt": ("train", "develop", "test"),
}


def draw_names(count: int) -> list[str]:
    """Return a random sample of names of the open knowledge base, without names that need quoting in a table."""
    names = open_kb().names
    found: list[str] = []
    for row in np.random.default_rng(SEED).permutation(len(names)).tolist():
        if len(found) == count:
            break
        if '"' not in names[row]:
            found.append(names[row])
    return found


def surfaces() -> list[str]:
    """Return the distinct normalised surfaces of BC5CDR and NCBI disease, shuffled."""
    found = sorted(
        {
            normal_name(mention.surface)
            for pattern, splits in _CORPORA.items()
            for split in splits
            for doc in documents_of(read_corpus(data_folder() / pattern.format(split)))
            for mention in doc.mentions
            if '"' not in mention.surface
        }
        - {""}
    )
    return [found[row] for row in np.random.default_rng(SEED).permutation(len(found)).tolist()]


# Encoders for benchmarks, which run no model: they return random or precomputed vectors.

Vectors = npt.NDArray[np.float32]


class Drawn:
    """An encoder of random unit vectors; deterministic for the same list of texts."""

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
    """An encoder with precomputed vectors."""

    def __init__(self, names: Sequence[str], vectors: Vectors, precision: str) -> None:
        self.precision, self.width, self.digest = precision, vectors.shape[1], "known"
        self._rows, self._vectors = {name: row for row, name in enumerate(names)}, vectors

    def encode(self, texts: Sequence[str]) -> Vectors:
        return self._vectors[[self._rows[text] for text in texts]]


def near(vectors: Vectors, rng: np.random.Generator) -> Vectors:
    """Return unit vectors near the given ones, by adding noise."""
    noise = rng.standard_normal(vectors.shape, dtype=np.float32) / np.sqrt(vectors.shape[1], dtype=np.float32)
    found = vectors + noise.astype(np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)
