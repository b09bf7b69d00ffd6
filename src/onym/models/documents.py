"""Encode whole documents of any length into contextual token vectors, with overlapping windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import torch
from torch import Tensor

from onym.models.encoder import batches, pad_rows
from onym.models.tensors import require_finite
from onym.models.tokens import Placed, Tokenizer
from onym.models.torch_encoder import token_vectors
from onym.models.torch_loading import fix_thread_count
from onym.text.analysis import TextAnalysis, analysis_of
from onym.types import Document


class TokenWindow(NamedTuple):
    """A window over tokens `start` to `end` (exclusive); only the vectors of tokens `first` to `last` (exclusive) are used."""

    start: int
    end: int
    first: int
    last: int


def windows(tokens: int, length: int, overlap: int) -> list[TokenWindow]:
    """Split `tokens` tokens into overlapping windows.

    If a token is in two windows, its vector is taken from the window in which it is farther from an edge. Windows start at
    multiples of `length - overlap`, so the windows of a token do not depend on text that comes much later.

    >>> windows(10, 6, 2)
    [TokenWindow(start=0, end=6, first=0, last=5), TokenWindow(start=4, end=10, first=5, last=10)]
    >>> windows(3, 6, 2)
    [TokenWindow(start=0, end=3, first=0, last=3)]
    """
    if tokens <= length:
        return [TokenWindow(0, tokens, 0, tokens)] if tokens else []
    step = length - overlap
    starts = range(0, tokens - overlap, step)
    ends = [min(start + length, tokens) for start in starts]
    middles = [0, *(start + (overlap + 1) // 2 for start in starts[1:]), tokens]
    return [TokenWindow(start, end, *own) for start, end, own in zip(starts, ends, pairwise(middles), strict=True)]


_BUDGET = 2_048  # tokens per batch, including padding, so that activations fit into the CPU cache
_TOGETHER = 32_768  # documents are batched together up to this number of tokens in total


@dataclass(frozen=True, slots=True)
class ReadText:
    """The tokens of a text and their vectors `states` (tokens, width), in fp32."""

    tokens: Placed
    states: Tensor


class DocumentReader:
    """Encodes documents in overlapping windows of `length` tokens.

    The token vectors are cached in the document's analysis under `key`, which identifies the model, so that a detector and a
    linker with the same key encode a document once. Without a key, nothing is shared with other readers.
    """

    def __init__(self, model: Any, tokenizer: Tokenizer, *, length: int = 256, overlap: int = 64, key: str = "") -> None:
        self.model, self.tokenizer = model, tokenizer
        self.length, self.overlap, self.key = length, overlap, key or uuid4().hex

    @property
    def width(self) -> int:
        """The dimension of the token vectors."""
        return int(self.model.config.hidden_size)

    def read(self, documents: Iterable[Document]) -> Iterator[ReadText]:
        """Yield the tokens and token vectors of each document, in order; a document's vectors do not depend on its batch."""
        group: list[tuple[TextAnalysis, Placed]] = []
        size = 0
        for doc in documents:
            analysis = analysis_of(doc)
            reading = self._reading(analysis)
            tokens = reading.tokens if reading else self.tokenizer.tokenize_with_offsets(doc.text)
            if group and size + len(tokens) > _TOGETHER:
                yield from self._group(group)
                group, size = [], 0
            group.append((analysis, tokens))
            size += len(tokens)
        yield from self._group(group)

    def _group(self, group: list[tuple[TextAnalysis, Placed]]) -> list[ReadText]:
        new = {analysis: tokens for analysis, tokens in group if not self._reading(analysis)}
        states = read_windows(self.model, self.tokenizer, list(new.values()), length=self.length, overlap=self.overlap)
        for (analysis, tokens), each in zip(new.items(), states, strict=True):
            analysis.readings[self.key] = ReadText(tokens, each)
        return [reading for analysis, _ in group if (reading := self._reading(analysis))]

    def _reading(self, analysis: TextAnalysis) -> ReadText | None:
        reading = analysis.readings.get(self.key)
        return reading if isinstance(reading, ReadText) else None


@torch.inference_mode()
def read_windows(model: Any, tokenizer: Tokenizer, texts: list[Placed], *, length: int, overlap: int) -> list[Tensor]:
    """Return the token vectors of each text, assembled from its windows."""
    fix_thread_count()
    states = [torch.zeros(len(tokens), model.config.hidden_size) for tokens in texts]
    room = length - len(tokenizer.before) - len(tokenizer.after)
    rows = [(text, window) for text, tokens in enumerate(texts) for window in windows(len(tokens), room, overlap)]
    lengths = np.array([window.end - window.start for _, window in rows], dtype=np.int64)
    for batch in batches(lengths, _BUDGET):
        selected = [rows[row] for row in batch.tolist()]
        ids, mask = window_rows(tokenizer, [(texts[text], window) for text, window in selected], model.config.pad_token_id)
        hidden = require_finite(token_vectors(model, ids.to(model.device), mask.to(model.device))).cpu()
        before = len(tokenizer.before)
        for row, (text, window) in enumerate(selected):
            own = slice(before + window.first - window.start, before + window.last - window.start)
            states[text][window.first : window.last] = hidden[row, own]
    return states


def window_rows(tokenizer: Tokenizer, parts: list[tuple[Placed, TokenWindow]], pad: int) -> tuple[Tensor, Tensor]:
    """Return input ids and attention mask of windows, with special tokens added. *Shape:* both (windows, tokens)."""
    before, after = list(tokenizer.before), list(tokenizer.after)
    rows = [[*before, *tokens.ids[window.start : window.end].tolist(), *after] for tokens, window in parts]
    ids, mask = pad_rows(rows, pad)
    return torch.from_numpy(ids), torch.from_numpy(mask)
