"""The detector by spans: every span of whole words has a score, and those likely enough are mentions (Bhowmik et al.)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from onym.detect._overlaps import resolved
from onym.detect._words import word_spans
from onym.detect.base import Detected, Span, detect_batches
from onym.encoders.collective import Collective
from onym.encoders.documents import ReadText
from onym.encoders.finite import require_finite
from onym.types import Document


class SpanDetector:
    """Finds mentions with a model that scores spans. With `nested`, a mention may lie inside another.

    Needs: a model that `onym train collective` taught to find mentions by spans.
    When to use: where names are written in ways that no vocabulary has.
    Related: `TagDetector`, `DictionaryDetector`.
    """

    def __init__(self, model: Collective, *, threshold: float | None = None, nested: bool = False) -> None:
        self.model, self._nested = model, nested
        self._threshold = model.settings.threshold if threshold is None else threshold

    @property
    def config(self) -> dict[str, Any]:
        """What was really used."""
        return {"detector": "spans", **self.model.config, "threshold": self._threshold, "nested": self._nested}

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        """Yield each document with the mentions that are found in its text."""
        return detect_batches(documents, self._find)

    def _find(self, batch: Sequence[Document]) -> Iterator[list[Span]]:
        for doc, read in zip(batch, self.model.reader.read(batch), strict=True):
            spans = scored_spans(self.model, doc.text, read, self._threshold)
            yield resolved(spans, nested=self._nested)


@torch.inference_mode()
def scored_spans(model: Collective, text: str, read: ReadText, threshold: float) -> list[Span]:
    """Return all spans that are at least so likely."""
    word_ranges = word_spans(text, read.tokens, model.settings.max_span_tokens)
    if not len(word_ranges):
        return []
    firsts, lasts = torch.from_numpy(word_ranges).unbind(1)
    chances = require_finite(model.heads.span_scores(read.states, firsts, lasts)).sigmoid().numpy()
    starts, ends = read.tokens.starts, read.tokens.ends
    return [
        Span(int(starts[first]), int(ends[last - 1]), float(chance))
        for (first, last), chance in zip(word_ranges.tolist(), chances.tolist(), strict=True)
        if chance >= threshold
    ]
