"""How an encoder reads texts: their tokens with what belongs around them, cut to a length, and padded row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onym.encoders.settings import EncoderSettings
from onym.store.artefact.arrays import Ragged
from onym.text.tokens import Tokenizer

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Reading:
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
        length = self.settings.length if self.settings.pooling == "mean-all" else max(map(len, lists), default=0)
        ids = np.full((len(lists), length), self.pad, dtype=np.int64)
        mask = np.zeros((len(lists), length), dtype=np.int64)
        for row, each in enumerate(lists):
            ids[row, : len(each)] = each
            mask[row, : len(each)] = 1
        return ids, mask
