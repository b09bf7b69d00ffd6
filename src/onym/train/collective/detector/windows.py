"""Windows of labelled documents, and batches of them: every span of whole words, what it is, and what is known about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from onym.detect.spans import word_spans
from onym.models.documents import Window, window_rows, windows
from onym.models.tokens import Placed, Tokenizer
from onym.train.collective.detector.corpora import LabelledCorpus
from onym.train.samples.base import Batch
from onym.train.samples.order import OrderedList
from onym.types import Document


@dataclass(frozen=True, slots=True)
class LabelledWindow:
    """A window of a document: by span of tokens the columns that it is a mention of, and all that its corpus speaks about."""

    doc: Document
    tokens: Placed
    window: Window
    mentions: dict[tuple[int, int], list[int]]
    columns: tuple[int, ...]


class LabelledWindows(OrderedList[LabelledWindow]):
    """`count` windows of the documents of corpora, each seen once in an epoch, in an order by `seed`."""

    def __init__(
        self,
        corpora: Sequence[LabelledCorpus],
        tokenizer: Tokenizer,
        *,
        room: int,
        overlap: int,
        count: int = 0,
        seed: int = 0,
    ) -> None:
        found = [
            window
            for corpus in corpora
            for doc in corpus.documents
            for window in _windows(doc, corpus.columns, tokenizer, room, overlap)
        ]
        super().__init__(found, count, seed)


def _windows(doc: Document, columns: Mapping[str, int], tokenizer: Tokenizer, room: int, overlap: int) -> list[LabelledWindow]:
    tokens = tokenizer.placed(doc.text)
    mentions: dict[tuple[int, int], list[int]] = {}
    for mention in doc.mentions:
        if mention.type in columns and (span := tokens.span(mention.start, mention.end)):
            mentions.setdefault(span, []).append(columns[mention.type])
    return [
        LabelledWindow(doc, tokens, window, mentions, tuple(columns.values())) for window in windows(len(tokens), room, overlap)
    ]


@dataclass(frozen=True, slots=True)
class LabelledCollate:
    """Makes a batch of windows.

    *Shape:* `input_ids` and `attention_mask` (windows, tokens); of all spans of whole words `span_firsts` and `span_lasts`
    (spans,), counted through the batch, row after row; `is_mention` and `is_known` (spans, labels).
    """

    tokenizer: Tokenizer
    pad: int
    labels: int
    max_span_tokens: int

    def __call__(self, batch: Sequence[LabelledWindow]) -> Batch:
        """Return the batch of windows, in their order."""
        ids, mask = window_rows(self.tokenizer, [(each.tokens, each.window) for each in batch], self.pad)
        shifts = [row * ids.shape[1] + len(self.tokenizer.before) - each.window.start for row, each in enumerate(batch)]
        spans, is_mention, is_known = zip(*map(self._spans, batch), strict=True)
        firsts, lasts = torch.from_numpy(
            np.concatenate([each + shift for each, shift in zip(spans, shifts, strict=True)])
        ).unbind(1)
        return {
            "input_ids": ids,
            "attention_mask": mask,
            "span_firsts": firsts,
            "span_lasts": lasts,
            "is_mention": torch.from_numpy(np.concatenate(is_mention)),
            "is_known": torch.from_numpy(np.concatenate(is_known)),
        }

    def _spans(self, window: LabelledWindow) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return the spans of a window, which labels each is a mention of, and which its corpus speaks about."""
        found = word_spans(window.doc.text, window.tokens, self.max_span_tokens)
        found = found[(found[:, 0] >= window.window.start) & (found[:, 1] <= window.window.end)]
        is_mention, is_known = np.zeros((2, len(found), self.labels), dtype=np.bool_)
        is_known[:, window.columns] = True
        for row, span in enumerate(map(tuple, found.tolist())):
            if span in window.mentions:
                is_mention[row, window.mentions[span]] = True
        return found, is_mention, is_known
