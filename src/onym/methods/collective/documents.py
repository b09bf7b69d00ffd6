"""Encode whole documents of any length into contextual token vectors, with overlapping windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import uuid4

from onym.models.tokens import Placed, Tokenizer
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


_TOGETHER = 32_768  # documents are batched together up to this number of tokens in total


States = Any
"""Token vectors (tokens, width) in fp32: a tensor if the model runs on torch, an array if it runs on ONNX Runtime."""


@dataclass(frozen=True, slots=True)
class ReadText:
    """The tokens of a text and their vectors."""

    tokens: Placed
    states: States


class DocumentReader(ABC):
    """Base class of readers, which encode documents in overlapping windows of `length` tokens.

    The token vectors are cached in the document's analysis under `key`, which identifies the model, so that a detector and a
    linker with the same key encode a document once. Without a key, nothing is shared with other readers.
    """

    def __init__(self, tokenizer: Tokenizer, *, length: int = 256, overlap: int = 64, key: str = "") -> None:
        self.tokenizer = tokenizer
        self.length, self.overlap, self.key = length, overlap, key or uuid4().hex

    @property
    @abstractmethod
    def width(self) -> int:
        """The dimension of the token vectors."""

    @abstractmethod
    def _encode(self, texts: list[Placed]) -> list[States]:
        """Return the token vectors of each text, assembled from its windows."""

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
        for (analysis, tokens), each in zip(new.items(), self._encode(list(new.values())), strict=True):
            analysis.readings[self.key] = ReadText(tokens, each)
        return [reading for analysis, _ in group if (reading := self._reading(analysis))]

    def _reading(self, analysis: TextAnalysis) -> ReadText | None:
        reading = analysis.readings.get(self.key)
        return reading if isinstance(reading, ReadText) else None

    def _windows(self, tokens: int) -> list[TokenWindow]:
        """Split a text of `tokens` tokens into windows that leave room for the special tokens."""
        return windows(tokens, self.length - len(self.tokenizer.before) - len(self.tokenizer.after), self.overlap)
