"""Windows of documents as tensors: the tokens, the mentions to link, and where mentions might be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from onym.detect.spans import word_edges, word_spans
from onym.models.collective import BEGIN, INSIDE, OUTSIDE, Detect
from onym.models.documents import window_rows
from onym.models.tokens import Tokenizer
from onym.train.samples.base import Batch
from onym.train.samples.windows import NOT_LINKED, TrainingWindow


@dataclass(frozen=True, slots=True)
class WindowCollate:
    """Makes a batch of windows.

    *Shape:* `input_ids` and `attention_mask` (windows, tokens). All offsets count through the batch, row after row: of mentions
    to link `firsts` and `lasts` (mentions,), with their `numbers`; of all spans of whole words `span_firsts`, `span_lasts` and
    `is_mention` (spans,); or the first tokens of all `words`, with their `tags`.
    """

    tokenizer: Tokenizer
    pad: int
    detect: Detect
    max_span_tokens: int

    def __call__(self, windows: Sequence[TrainingWindow]) -> Batch:
        """Return the batch of windows, in their order."""
        ids, mask = window_rows(self.tokenizer, [(each.tokens, each.window) for each in windows], self.pad)
        shifts = [row * ids.shape[1] + len(self.tokenizer.before) - each.window.start for row, each in enumerate(windows)]
        mentions = [
            (first + shift, last + shift, number)
            for shift, each in zip(shifts, windows, strict=True)
            for first, last, number in each.spans
            if number != NOT_LINKED
        ]
        firsts, lasts, numbers = torch.tensor(mentions, dtype=torch.long).reshape(-1, 3).unbind(1)
        batch = {"input_ids": ids, "attention_mask": mask, "firsts": firsts, "lasts": lasts, "numbers": numbers}
        if self.detect == "spans":
            batch |= self._spans(windows, shifts)
        elif self.detect == "tags":
            batch |= self._tags(windows, shifts)
        return batch

    def _spans(self, windows: Sequence[TrainingWindow], shifts: Sequence[int]) -> Batch:
        spans, marks = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0, dtype=np.bool_)]
        for each, shift in zip(windows, shifts, strict=True):
            found = word_spans(each.doc.text, each.tokens, self.max_span_tokens)
            found = found[(found[:, 0] >= each.window.start) & (found[:, 1] <= each.window.end)]
            gold = {span[:2] for span in each.spans}
            spans.append(found + shift)
            marks.append(np.array([tuple(span) in gold for span in found.tolist()], dtype=np.bool_))
        firsts, lasts = torch.from_numpy(np.concatenate(spans)).unbind(1)
        return {"span_firsts": firsts, "span_lasts": lasts, "is_mention": torch.from_numpy(np.concatenate(marks))}

    def _tags(self, windows: Sequence[TrainingWindow], shifts: Sequence[int]) -> Batch:
        words, tags = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for each, shift in zip(windows, shifts, strict=True):
            own = _bio_tags(each)
            found = np.flatnonzero(word_edges(each.doc.text, each.tokens)[0])
            found = found[(found >= each.window.start) & (found < each.window.end)]
            words.append(found + shift)
            tags.append(own[found])
        return {"words": torch.from_numpy(np.concatenate(words)), "tags": torch.from_numpy(np.concatenate(tags))}


def _bio_tags(window: TrainingWindow) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the tag of each token of the document; of nested mentions the outermost counts."""
    tags = np.full(len(window.tokens), OUTSIDE, dtype=np.int64)
    for first, last, _ in sorted(window.spans, key=lambda span: span[0] - span[1]):
        if (tags[first:last] == OUTSIDE).all():
            tags[first:last] = INSIDE
            tags[first] = BEGIN
    return tags
