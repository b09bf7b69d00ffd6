"""Variant detector: finds mentions of genetic variants by patterns, without a model and without names of the knowledge base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from pydantic import Field

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask
from onym.methods.detector import Detected, DetectorConfig, Span, detect_batches
from onym.methods.variants.naming import TYPE
from onym.methods.variants.patterns import FoundVariant, find_variants
from onym.parts import OpenContext
from onym.types import Document


class VariantsDetectorConfig(DetectorConfig):
    """Options of the patterns of variants."""

    kind: Literal["variants"] = "variants"
    unplaced: bool = Field(
        default=True, description="Also detect changes without a position: C>T, 32-bp deletion. They have no id of their own."
    )


Config = VariantsDetectorConfig  # the registry expects this name in every module


def open(
    config: VariantsDetectorConfig, kb: KnowledgeBase, context: OpenContext, *, only: ConceptMask | None = None
) -> VariantsDetector:
    """Open the detector. It finds the same mentions with any knowledge base and any filter."""
    return VariantsDetector(config)


class VariantsDetector:
    """Finds variants by patterns: HGVS, rs numbers, older notations, and changes in words.

    When to use: together with other detectors, for texts that name variants.
    Related: `SeveralDetector`.

    >>> [found] = VariantsDetector().detect([Document("1", "BRAF V600E (rs113488022), c.1799T>A")])
    >>> [mention.surface for mention in found.document.mentions]
    ['V600E', 'rs113488022', 'c.1799T>A']
    """

    def __init__(self, config: VariantsDetectorConfig | None = None) -> None:
        self._config = config or VariantsDetectorConfig()

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        return {"detector": "variants", **self._config.model_dump(exclude={"kind"})}

    def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
        """Yield each document with the variants found in its text; existing mentions are ignored and replaced."""

        def find(batch: Sequence[Document]) -> Iterator[list[Span]]:
            for doc in batch:
                found = [each for each in find_variants(doc.text) if self._is_wanted(each)]
                yield [Span(each.start, each.end, type=TYPE) for each in found]

        return detect_batches(documents, find)

    def _is_wanted(self, found: FoundVariant) -> bool:
        return self._config.unplaced or bool(found.variant.position)
