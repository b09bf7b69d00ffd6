"""Base class of encoders, and batching: texts are deduplicated and encoded in batches of similar length."""

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
    """Yield batches of row indices, longest texts first, with at most `budget` tokens each, including padding.

    The first batches need the most memory, so an out-of-memory error occurs at the start and not after hours.

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
    """Pad token lists to `length` (0: the length of the longest list); return ids and mask, both (lists, tokens).

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
    """Turns tokenised texts into padded batches; `pad` is the padding token id."""

    tokenizer: Tokenizer
    settings: EncoderSettings
    pad: int

    @property
    def room(self) -> int:
        """The maximum number of tokens of a text, not counting special tokens."""
        return max(0, self.settings.length - self._around)

    @property
    def _around(self) -> int:
        return len(self.tokenizer.before) + len(self.tokenizer.after)

    def lengths(self, tokens: Ragged) -> Rows:
        """Return the input length of each text, including special tokens and fixed padding; 0 for a text without tokens."""
        lengths = np.minimum(np.diff(tokens.offsets), self.room) + self._around
        return np.where(lengths > 0, self.settings.length, 0) if self.settings.pooling == "mean-all" else lengths

    def rows(self, tokens: Ragged, texts: Rows) -> tuple[Rows, Rows]:
        """Return the ids and mask of the given texts, both (texts, tokens), padded to equal length."""
        before, after, room = self.tokenizer.before, self.tokenizer.after, self.room
        lists = [[*before, *tokens[text][:room], *after] for text in texts.tolist()]
        return pad_rows(lists, self.pad, self.settings.length if self.settings.pooling == "mean-all" else 0)


Vectors = npt.NDArray[np.float32]
_BUDGET = 4_096  # tokens per batch, including padding, so that activations fit into the CPU cache


class TextEncoder(ABC):
    """Base class of text encoders. Encoders with the same `digest` give the same vectors, except for rounding.

    `about` is the metadata of the model: its name, the digests of its weights and configuration, and its size.
    """

    width: int
    precision: str

    def __init__(self, tokenizer: Tokenizer, settings: EncoderSettings, pad: int, about: dict[str, Any] | None = None) -> None:
        self.settings = settings
        self._tokenizer, self._about = tokenizer, about or {}
        self.reading = TokenBatch(tokenizer, settings, pad)

    @property
    def digest(self) -> str:
        """Digest of weights, configuration, tokenizer and settings; it does not depend on the precision."""
        parts = [self._about.get("weights"), self._about.get("shape"), self._tokenizer.digest, self.settings.model_dump()]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def config(self) -> dict[str, Any]:
        """All properties of the encoder that its vectors depend on, for result metadata."""
        text = {"tokenizer": self._tokenizer.digest, **self.settings.model_dump()}
        return {**self._about, "precision": self.precision, **text}

    def encode(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Vectors:
        """Return the vectors of texts, as an array (texts, width). `progress` is called with the number of texts done.

        Duplicate texts are encoded once. Texts are truncated to the length in the settings.
        """
        row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        tokens = self._tokenizer.ids_of(list(row_of))
        found = np.zeros((len(row_of), self.width), dtype=np.float32)  # texts without tokens keep the zero vector
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
        """Encode padded texts. *Shape:* ids and mask (texts, tokens) -> (texts, width)."""


def about_model(folder: Path, name: str, parameters: int) -> dict[str, Any]:
    """Return the metadata of the model in a folder; `name` overrides the folder name."""
    return {
        "model": name or folder.name,
        "weights": weights_digest(folder),
        "shape": file_digest(folder / CONFIG)[:16],
        "parameters": parameters,
    }


def require_vocabulary(tokenizer: Tokenizer, tokens: int) -> None:
    """Raise ConfigError if the tokenizer has more tokens than the model."""
    if tokenizer.vocabulary > tokens:
        what = f"the tokenizer has {tokenizer.vocabulary:,} tokens, the model {tokens:,}"
        raise ConfigError("model-tokenizer", what, fix="use the tokenizer that the model was trained with")
