"""The detector by tags: each word begins a mention, goes on with one, or is outside (BIO)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from onym.detect._words import word_edges
from onym.detect.base import Detected, Span, detect_batches
from onym.encoders.collective import Collective
from onym.encoders.documents import ReadText
from onym.encoders.finite import require_finite
from onym.encoders.heads import BEGIN, INSIDE, OUTSIDE
from onym.types import Document


class TagDetector:
    """Finds mentions with a model that tags words. What it finds never overlaps.

    Needs: a model that `onym train collective` taught to find mentions by tags.
    When to use: where names are written in ways that no vocabulary has, and mentions may be long.
    Related: `SpanDetector`, `DictionaryDetector`.
    """

    def __init__(self, model: Collective, *, threshold: float | None = None) -> None:
        self.model = model
        self._threshold = model.settings.threshold if threshold is None else threshold

    @property
    def config(self) -> dict[str, Any]:
        """What was really used."""
        return {"detector": "tags", **self.model.config, "threshold": self._threshold}

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        """Yield each document with the mentions that are found in its text."""
        return detect_batches(documents, self._find)

    def _find(self, batch: Sequence[Document]) -> Iterator[list[Span]]:
        for doc, read in zip(batch, self.model.reader.read(batch), strict=True):
            yield tagged_spans(self.model, doc.text, read, self._threshold)


@torch.inference_mode()
def tagged_spans(model: Collective, text: str, read: ReadText, threshold: float) -> list[Span]:
    """Return the mentions: runs of words each of which is inside one with at least that probability.

    A word has the tag of its first token. The score of a mention is the mean of its words' probabilities.
    """
    begins, finishes = word_edges(text, read.tokens)
    words = np.flatnonzero(begins)
    if not len(words):
        return []
    chances = require_finite(model.heads.tag_scores(read.states[torch.from_numpy(words)])).softmax(1).numpy()
    starts, ends = read.tokens.starts[words], read.tokens.ends[np.flatnonzero(finishes)]
    found: list[Span] = []
    run: list[float] = []
    first = 0
    for word, (chance, is_begin) in enumerate(
        zip(1 - chances[:, OUTSIDE], chances[:, BEGIN] >= chances[:, INSIDE], strict=True)
    ):
        if run and (chance < threshold or is_begin):
            found.append(_span(starts[first], ends[word - 1], run))
            run = []
        if chance >= threshold:
            first = first if run else word
            run.append(float(chance))
    return [*found, _span(starts[first], ends[-1], run)] if run else found


def _span(start: Any, end: Any, chances: list[float]) -> Span:
    return Span(int(start), int(end), sum(chances) / len(chances))
