"""Windows of documents as tensors: what a model reads, where mentions are in it, and where they might be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from onym.detect._words import word_edges, word_spans
from onym.encoders.documents import window_rows
from onym.encoders.heads import BEGIN, INSIDE, OUTSIDE, Detect
from onym.text.tokens import Tokenizer
from onym.train.generative.collate import Batch
from onym.train.samples.windows import Sight


@dataclass(frozen=True, slots=True)
class SightCollate:
    """Makes a batch of windows.

    *Shape:* `input_ids` and `attention_mask` (windows, tokens). All places count through the batch, row after row: of mentions
    to be linked `firsts` and `lasts` (mentions,), with their `numbers`; of all spans of whole words `span_firsts`, `span_lasts`
    and `is_mention` (spans,); or the first tokens of all `words`, with their `tags`.
    """

    tokenizer: Tokenizer
    pad: int
    detect: Detect
    longest: int

    def __call__(self, sights: Sequence[Sight]) -> Batch:
        """Return the batch of windows, in their order."""
        ids, mask = window_rows(self.tokenizer, [(sight.tokens, sight.window) for sight in sights], self.pad)
        shifts = [row * ids.shape[1] + len(self.tokenizer.before) - sight.window.start for row, sight in enumerate(sights)]
        mentions = [
            (first + shift, last + shift, number)
            for shift, sight in zip(shifts, sights, strict=True)
            for first, last, number in sight.spans
            if number >= 0
        ]
        firsts, lasts, numbers = torch.tensor(mentions, dtype=torch.long).reshape(-1, 3).unbind(1)
        batch = {"input_ids": ids, "attention_mask": mask, "firsts": firsts, "lasts": lasts, "numbers": numbers}
        if self.detect == "spans":
            batch |= self._spans(sights, shifts)
        elif self.detect == "tags":
            batch |= self._tags(sights, shifts)
        return batch

    def _spans(self, sights: Sequence[Sight], shifts: Sequence[int]) -> Batch:
        places, marks = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0, dtype=np.bool_)]
        for sight, shift in zip(sights, shifts, strict=True):
            found = word_spans(sight.doc.text, sight.tokens, self.longest)
            found = found[(found[:, 0] >= sight.window.start) & (found[:, 1] <= sight.window.end)]
            right = {span[:2] for span in sight.spans}
            places.append(found + shift)
            marks.append(np.array([tuple(each) in right for each in found.tolist()], dtype=np.bool_))
        firsts, lasts = torch.from_numpy(np.concatenate(places)).unbind(1)
        return {"span_firsts": firsts, "span_lasts": lasts, "is_mention": torch.from_numpy(np.concatenate(marks))}

    def _tags(self, sights: Sequence[Sight], shifts: Sequence[int]) -> Batch:
        words, tags = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for sight, shift in zip(sights, shifts, strict=True):
            own = np.full(len(sight.tokens), OUTSIDE, dtype=np.int64)
            for first, last, _ in sorted(
                sight.spans, key=lambda span: span[0] - span[1]
            ):  # a longer one stays around a shorter
                if (own[first:last] == OUTSIDE).all():
                    own[first:last] = INSIDE
                    own[first] = BEGIN
            found = np.flatnonzero(word_edges(sight.doc.text, sight.tokens)[0])
            found = found[(found >= sight.window.start) & (found < sight.window.end)]
            words.append(found + shift)
            tags.append(own[found])
        return {"words": torch.from_numpy(np.concatenate(words)), "tags": torch.from_numpy(np.concatenate(tags))}
