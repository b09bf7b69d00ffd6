"""What all encoders share, whichever library computes: texts are read once each, in batches of like lengths."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError
from onym.models.settings import EncoderSettings
from onym.models.shape import CONFIG
from onym.models.tokens import Tokenizer
from onym.store.arrays import Ragged
from onym.store.cache import file_digest
from onym.store.models import weights_digest


def batches(lengths: npt.NDArray[Any], budget: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the places of texts, the longest first, as many at once as fit into `budget` tokens with their padding.

    The first batches need the most memory: what does not fit fails at once and not after hours.

    >>> [batch.tolist() for batch in batches(np.array([2, 9, 3, 3]), budget=6)]
    [[1], [2, 3], [0]]
    """
    order = np.argsort(-lengths.astype(np.int64), kind="stable")
    start = 0
    while start < len(order):
        rows = max(1, budget // max(1, int(lengths[order[start]])))
        yield order[start : start + rows]
        start += rows


Rows = npt.NDArray[np.int64]


def pad_rows(lists: Sequence[Sequence[int]], pad: int, length: int = 0) -> tuple[Rows, Rows]:
    """Return lists of tokens as ids and mask, both (lists, tokens), as wide as `length`, or as the longest of them.

    >>> [each.tolist() for each in pad_rows([[5, 6], [7]], pad=0)]
    [[[5, 6], [7, 0]], [[1, 1], [1, 0]]]
    """
    length = length or max(map(len, lists), default=0)
    ids = np.full((len(lists), length), pad, dtype=np.int64)
    mask = np.zeros((len(lists), length), dtype=np.int64)
    for row, each in enumerate(lists):
        ids[row, : len(each)] = each
        mask[row, : len(each)] = 1
    return ids, mask


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Texts as rows of tokens; `pad` fills a row."""

    tokenizer: Tokenizer
    settings: EncoderSettings
    pad: int

    @property
    def room(self) -> int:
        """How many tokens of a text itself are read."""
        return max(0, self.settings.length - self._around)

    @property
    def _around(self) -> int:
        return len(self.tokenizer.before) + len(self.tokenizer.after)

    def lengths(self, tokens: Ragged) -> Rows:
        """Return how many tokens each text takes, padding to a fixed length included; 0 is a text that cannot be read."""
        lengths = np.minimum(np.diff(tokens.offsets), self.room) + self._around
        return np.where(lengths > 0, self.settings.length, 0) if self.settings.pooling == "mean-all" else lengths

    def rows(self, tokens: Ragged, texts: Rows) -> tuple[Rows, Rows]:
        """Return the texts at these places as ids and mask, both (texts, tokens), as wide as the longest of them."""
        before, after, room = self.tokenizer.before, self.tokenizer.after, self.room
        lists = [[*before, *tokens[text][:room], *after] for text in texts.tolist()]
        return pad_rows(lists, self.pad, self.settings.length if self.settings.pooling == "mean-all" else 0)


Vectors = npt.NDArray[np.float32]
_BUDGET = 4_096  # tokens read at once, padding included: what a layer works on stays in the cache of a core


class TextEncoder(ABC):
    """Makes vectors of texts. The same `digest` means the same vectors, but for rounding.

    `about` is what there is to tell of the model: its name, and the digest of its weights.
    """

    width: int
    precision: str

    def __init__(self, tokenizer: Tokenizer, settings: EncoderSettings, pad: int, about: dict[str, Any] | None = None) -> None:
        self.settings = settings
        self._tokenizer, self._about = tokenizer, about or {}
        self.reading = TokenBatch(tokenizer, settings, pad)

    @property
    def digest(self) -> str:
        """The identity of the vectors: of weights, configuration, tokenizer and settings, but not of the precision."""
        parts = [self._about.get("weights"), self._about.get("shape"), self._tokenizer.digest, self.settings.model_dump()]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def config(self) -> dict[str, Any]:
        """What the vectors depend on, to be told beside results."""
        text = {"tokenizer": self._tokenizer.digest, **self.settings.model_dump()}
        return {**self._about, "precision": self.precision, **text}

    def encode(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Vectors:
        """Return the vectors of texts, in their order. *Shape:* (texts, width). `progress` is told how many are done.

        A text that is there several times is read once. What does not fit into the settings' length is not read.
        """
        row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        tokens = self._tokenizer.ids_of(list(row_of))
        found = np.zeros((len(row_of), self.width), dtype=np.float32)  # a text without any token stays at zero
        lengths, done = self.reading.lengths(tokens), 0
        readable = np.flatnonzero(lengths)
        for batch in batches(lengths[readable], _BUDGET):
            rows = readable[batch]
            found[rows] = self._vectors(*self.reading.rows(tokens, rows))
            done += len(rows)
            if progress:
                progress(done)
        return found if len(row_of) == len(texts) else found[[row_of[text] for text in texts]]

    @abstractmethod
    def _vectors(self, ids: Rows, mask: Rows) -> Vectors:
        """Return the vectors of padded texts; ids and mask (texts, tokens) -> (texts, width)."""


def about_model(folder: Path, name: str, parameters: int) -> dict[str, Any]:
    """Return what there is to tell of the model of a folder; it is called `name`, or by the folder's name."""
    return {
        "model": name or folder.name,
        "weights": weights_digest(folder),
        "shape": file_digest(folder / CONFIG)[:16],
        "parameters": parameters,
    }


def require_vocabulary(tokenizer: Tokenizer, tokens: int) -> None:
    """Refuse a tokenizer that has more tokens than the model."""
    if tokenizer.vocabulary > tokens:
        what = f"the tokenizer has {tokenizer.vocabulary:,} tokens, the model {tokens:,}"
        raise ConfigError("model-tokenizer", what, fix="name the tokenizer that the model was trained with")
