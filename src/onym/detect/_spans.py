"""The detector by spans: every span of whole words has a score, and those likely enough are mentions (Bhowmik et al.)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from onym.detect._labels import WantedType, wanted_types
from onym.detect._overlaps import resolved
from onym.detect._words import word_spans
from onym.detect.base import Detected, Span, detect_batches
from onym.encoders.collective import Collective
from onym.encoders.documents import ReadText
from onym.encoders.finite import require_finite
from onym.encoders.text_encoder import Vectors
from onym.types import Document

Ints = npt.NDArray[np.integer[Any]]


class SpanDetector:
    """Finds mentions with a model that scores spans. With `nested`, a mention may lie inside another.

    `types` are those that are looked for, by default all that the model knows, as the corpus `convention` annotates them.

    Needs: a model that `onym train collective` taught to find mentions by spans.
    When to use: where names are written in ways that no vocabulary has.
    Related: `TagDetector`, `DictionaryDetector`.
    """

    def __init__(
        self,
        model: Collective,
        *,
        types: Collection[str] = (),
        convention: str = "",
        threshold: float | None = None,
        nested: bool = False,
    ) -> None:
        self.model, self._nested = model, nested
        self._wanted = wanted_types(model.settings, types, convention, threshold)

    @property
    def config(self) -> dict[str, Any]:
        """What was really used."""
        about = {"detector": "spans", **self.model.config, "nested": self._nested}
        if not self.model.settings.labels:
            return about | {"threshold": self._wanted[0].threshold}
        return about | {"types": [asdict(each) for each in self._wanted]}

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        """Yield each document with the mentions that are found in its text."""
        return detect_batches(documents, self._find)

    def _find(self, batch: Sequence[Document]) -> Iterator[list[Span]]:
        for doc, read in zip(batch, self.model.reader.read(batch), strict=True):
            yield resolved(scored_spans(self.model, doc.text, read, self._wanted), nested=self._nested)


@torch.inference_mode()
def scored_spans(model: Collective, text: str, read: ReadText, wanted: Sequence[WantedType]) -> list[Span]:
    """Return all spans that are likely enough to be of a type that is wanted for."""
    word_ranges = word_spans(text, read.tokens, model.settings.max_span_tokens)
    if not len(word_ranges):
        return []
    firsts, lasts = torch.from_numpy(word_ranges).unbind(1)
    chances = require_finite(model.heads.span_scores(read.states, firsts, lasts)).sigmoid().numpy()  # (spans, labels)
    starts, ends = read.tokens.starts[word_ranges[:, 0]], read.tokens.ends[word_ranges[:, 1] - 1]
    return [span for each in wanted for span in _spans_of(each, chances, starts, ends)]


def _spans_of(wanted: WantedType, chances: Vectors, starts: Ints, ends: Ints) -> Iterator[Span]:
    chance = chances[:, wanted.columns].mean(axis=1)
    for row in (chance >= wanted.threshold).nonzero()[0].tolist():
        yield Span(int(starts[row]), int(ends[row]), float(chance[row]), wanted.type)
