"""Reading whole documents: a vector for every token, in its context, whatever the document's length."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from onym.encoders.batches import batches
from onym.encoders.windows import Window, windows
from onym.text.tokens import Placed, Tokenizer

_BUDGET = 4_096  # tokens read at once, padding included
_TOGETHER = 32_768  # tokens of documents that are read together


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text's tokens, and their vectors. *Shape:* states (tokens, width), fp32."""

    tokens: Placed
    states: Tensor


class DocumentReader:
    """Reads texts with an encoder, in windows of `length` tokens that overlap.

    The texts that were read last, up to `remembered` tokens, are not read again: a detector and a linker that share a reader
    read a document once.
    """

    def __init__(
        self, model: Any, tokenizer: Tokenizer, *, length: int = 256, overlap: int = 64, remembered: int = 65_536
    ) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.length, self.overlap, self._remembered = length, overlap, remembered
        self._known: OrderedDict[str, ReadText] = OrderedDict()

    @property
    def width(self) -> int:
        """How wide the vectors are."""
        return int(self.model.config.hidden_size)

    def read(self, texts: Iterable[str]) -> Iterator[ReadText]:
        """Yield the texts' tokens with their vectors, in order. A text's vectors do not depend on the other texts."""
        group: list[tuple[str, Placed]] = []
        size = 0
        for text in texts:
            tokens = self._known[text].tokens if text in self._known else self.tokenizer.placed(text)
            if group and size + len(tokens) > _TOGETHER:
                yield from self._group(group)
                group, size = [], 0
            group.append((text, tokens))
            size += len(tokens)
        yield from self._group(group)

    def _group(self, group: list[tuple[str, Placed]]) -> list[ReadText]:
        new = {text: tokens for text, tokens in group if text not in self._known}
        states = read_windows(self.model, self.tokenizer, list(new.values()), length=self.length, overlap=self.overlap)
        found = {text: ReadText(tokens, each) for (text, tokens), each in zip(new.items(), states, strict=True)}
        read = [found.get(text) or self._known[text] for text, _ in group]
        self._remember(found)
        return read

    def _remember(self, found: dict[str, ReadText]) -> None:
        self._known.update(found)
        size = sum(len(each.tokens) for each in self._known.values())
        while self._known and size > self._remembered:
            size -= len(self._known.popitem(last=False)[1].tokens)


@torch.inference_mode()
def read_windows(model: Any, tokenizer: Tokenizer, texts: list[Placed], *, length: int, overlap: int) -> list[Tensor]:
    """Return the vectors of all tokens of texts, each token's from the window that it is taken from."""
    states = [torch.zeros(len(tokens), model.config.hidden_size) for tokens in texts]
    room = length - len(tokenizer.before) - len(tokenizer.after)
    rows = [(text, window) for text, tokens in enumerate(texts) for window in windows(len(tokens), room, overlap)]
    lengths = np.array([window.end - window.start for _, window in rows], dtype=np.int64)
    for batch in batches(lengths, _BUDGET):
        chosen = [rows[row] for row in batch.tolist()]
        ids, mask = window_rows(tokenizer, [(texts[text], window) for text, window in chosen], model.config.pad_token_id)
        hidden = hidden_of(model, ids.to(model.device), mask.to(model.device)).cpu()
        before = len(tokenizer.before)
        for row, (text, window) in enumerate(chosen):
            own = slice(before + window.first - window.start, before + window.last - window.start)
            states[text][window.first : window.last] = hidden[row, own]
    return states


def hidden_of(model: Any, ids: Tensor, mask: Tensor) -> Tensor:
    """Return the vectors of all tokens, in fp32 at least. *Shape:* ids and mask (rows, tokens) -> (rows, tokens, width)."""
    hidden: Tensor = model(input_ids=ids, attention_mask=mask).last_hidden_state
    return hidden if hidden.dtype.itemsize > 4 else hidden.float()


def window_rows(tokenizer: Tokenizer, parts: list[tuple[Placed, Window]], pad: int) -> tuple[Tensor, Tensor]:
    """Return windows as ids and mask, with what the tokenizer puts around a text. *Shape:* both (windows, tokens)."""
    before, after = list(tokenizer.before), list(tokenizer.after)
    rows = [[*before, *tokens.ids[window.start : window.end].tolist(), *after] for tokens, window in parts]
    longest = max(map(len, rows), default=0)
    ids = torch.full((len(rows), longest), pad, dtype=torch.long)
    mask = torch.zeros((len(rows), longest), dtype=torch.long)
    for row, each in enumerate(rows):
        ids[row, : len(each)] = torch.tensor(each)
        mask[row, : len(each)] = 1
    return ids, mask
