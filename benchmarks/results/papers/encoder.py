"""An encoder that reads each text once: the dictionaries of several parts of a training set share nearly all their names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models import model_folder
from onym.models.encoder import Vectors
from onym.models.torch_encoder import Encoder
from onym.store.cache import cache_folder

MODEL = "minilm"


class RememberingEncoder:
    """Makes vectors as an encoder does, and keeps them; `keep` writes them where the next run finds them."""

    def __init__(self, encoder: Encoder, path: Path) -> None:
        self._encoder, self._path = encoder, path
        self.width, self.precision = encoder.width, encoder.precision
        self._rows: dict[str, int] = {}
        self._vectors = np.zeros((0, encoder.width), dtype=np.float32)
        if path.is_file():
            with np.load(path, allow_pickle=False) as kept:
                self._rows = {text: row for row, text in enumerate(kept["texts"].tolist())}
                self._vectors = kept["vectors"]

    @classmethod
    def open(cls, name: str = MODEL) -> RememberingEncoder:
        """Open an encoder; it is fetched on first use."""
        encoder = Encoder.open(model_folder(name))
        return cls(encoder, cache_folder() / "benchmarks" / f"vectors-{encoder.digest}.npz")

    @property
    def digest(self) -> str:
        """The identity of the vectors."""
        return self._encoder.digest

    @property
    def config(self) -> dict[str, Any]:
        """What the vectors depend on."""
        return self._encoder.config

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts. *Shape:* (texts, width)."""
        if new := [text for text in dict.fromkeys(texts) if text not in self._rows]:
            rows = range(len(self._rows), len(self._rows) + len(new))
            self._rows |= dict(zip(new, rows, strict=True))
            self._vectors = np.concatenate((self._vectors, self._encoder.encode(new)))
        return self._vectors[np.array([self._rows[text] for text in texts], dtype=np.int64)]

    def keep(self) -> None:
        """Write all vectors."""
        np.savez(self._path, texts=np.array(list(self._rows)), vectors=self._vectors)
