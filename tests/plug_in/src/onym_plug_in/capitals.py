"""A detector that finds words in capitals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import Field

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask
from onym.methods.detector import Detected, DetectorConfig, Span, detect_batches
from onym.parts import OpenContext
from onym.types import Document


class Config(DetectorConfig):
    """Options of the detector."""

    kind: Literal["capitals"] = "capitals"
    letters: int = Field(default=2, ge=1, le=99, description="Minimum number of letters of a word.")


def open(  # noqa: A001
    config: Config,
    kb: KnowledgeBase,
    context: OpenContext,
    *,
    only: ConceptMask | None = None,
) -> CapitalsDetector:
    """Open the detector."""
    return CapitalsDetector(config)


class CapitalsDetector:
    """Finds words in capitals."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._pattern = re.compile(rf"\b[A-Z]{{{config.letters},}}(?: [A-Z]{{{config.letters},}})*\b")

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        return {"detector": "capitals", "letters": self._config.letters}

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        """Yield each document with its words in capitals."""
        return detect_batches(documents, lambda batch: ([*self._spans(doc.text)] for doc in batch))

    def _spans(self, text: str) -> Iterator[Span]:
        return (Span(found.start(), found.end(), 0.5) for found in self._pattern.finditer(text))
