"""A fake encoder, and knowledge bases with given names."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe

WIDTH = 16


class Hashed:
    """A fake encoder: the vector of a text is random, seeded by its hash. It records the encoded texts."""

    def __init__(self, digest: str = "hashed", precision: str = "float32", width: int = WIDTH) -> None:
        self.digest, self.precision, self.width = digest, precision, width
        self.encoded: list[str] = []
        self.fails_at = ""  # encoding this text raises KeyboardInterrupt

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        if self.fails_at and self.fails_at in texts:
            raise KeyboardInterrupt
        self.encoded += texts
        return np.stack([self._vector(text) for text in texts]) if texts else np.zeros((0, self.width), dtype=np.float32)

    def _vector(self, text: str) -> npt.NDArray[np.float32]:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        vector = np.random.default_rng(seed).standard_normal(self.width)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def kb_of(folder: Path, names: Sequence[str]) -> KnowledgeBase:
    """Build a knowledge base with one concept per name; a second call with the same folder builds a new release in it."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"demo:{number}\t{name}" for number, name in enumerate(names)]
    (folder / "names.tsv").write_text("\n".join(["id\tname", *rows]) + "\n")
    build_kb(Recipe.of({"sources": [{"path": "names.tsv"}]}), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")


def names_of(kb: KnowledgeBase) -> list[str]:
    return [kb.names[row] for row in range(len(kb.names))]


def words(count: int) -> list[str]:
    return [f"name {number:05d}" for number in range(count)]
