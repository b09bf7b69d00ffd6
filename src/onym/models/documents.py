"""Reading whole documents: a vector for every token, in its context, whatever the document's length."""

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
    """Tokens from `start` to `end` are read together; those from `first` to `last` are taken from this window."""

    start: int
    end: int
    first: int
    last: int


def windows(tokens: int, length: int, overlap: int) -> list[TokenWindow]:
    """Return the windows over so many tokens. Each token is taken from the one window in which it stands farther from an end.

    Where a window stands depends on the number of tokens before it alone: what is far behind a token never changes its window,
    but whether there is a next one.

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


_BUDGET = 2_048  # tokens read at once, padding included: what a layer works on stays in the cache of a core
_TOGETHER = 32_768  # tokens of documents that are read together


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text's tokens, and their vectors. *Shape:* states (tokens, width), fp32."""

    tokens: Placed
    states: Tensor


class DocumentReader:
    """Reads documents with an encoder, in windows of `length` tokens that overlap.

    A reading is kept in the document's analysis under `key`, which stands for the model: a detector and a linker with the same
    key read a document once, as long as the document carries its analysis. Without a key, a reader shares with nobody.
    """

    def __init__(self, model: Any, tokenizer: Tokenizer, *, length: int = 256, overlap: int = 64, key: str = "") -> None:
        self.model, self.tokenizer = model, tokenizer
        self.length, self.overlap, self.key = length, overlap, key or uuid4().hex

    @property
    def width(self) -> int:
        """How wide the vectors are."""
        return int(self.model.config.hidden_size)

    def read(self, documents: Iterable[Document]) -> Iterator[ReadText]:
        """Yield the documents' tokens with their vectors, in order. A document's vectors do not depend on the others."""
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
    """Return the vectors of all tokens of texts, each token's from the window that it is taken from."""
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
    """Return windows as ids and mask, with what the tokenizer puts around a text. *Shape:* both (windows, tokens)."""
    before, after = list(tokenizer.before), list(tokenizer.after)
    rows = [[*before, *tokens.ids[window.start : window.end].tolist(), *after] for tokens, window in parts]
    ids, mask = pad_rows(rows, pad)
    return torch.from_numpy(ids), torch.from_numpy(mask)
