"""Chooses among several successors of an id in context, with a pipeline of the new release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.pipeline.pipeline import Pipeline
from onym.types import Document, Link, LinkedDocument

MIN_CONFIDENCE = 0.9
"""By default, a choice with a lower confidence is only suggested."""
_MAX_PIPELINES = 1_000  # restricted pipelines that are cached, one for each set of successors


@dataclass(frozen=True, slots=True)
class Choice:
    """The successors as the pipeline ranks them. `is_certain` is true if the first may be taken without a person."""

    ranked: tuple[str, ...]
    is_certain: bool
    confidence: float | None = None


class Relinker:
    """Links mentions again among the successors of their ids.

    A choice is certain if the pipeline, free to link the mention to any concept, links it to one of the successors with at
    least the confidence `min_confidence`; without a calibration, if no other concept has the same score.
    """

    def __init__(self, pipeline: Pipeline, new: KnowledgeBase, min_confidence: float = MIN_CONFIDENCE) -> None:
        if pipeline.kb.digest != new.digest:
            what = "the pipeline has another knowledge base than the new release"
            raise ConfigError("config-invalid", what, fix="give a pipeline that was built with the new release")
        self._pipeline, self._min = pipeline.without_detector().with_assertion(False), min_confidence
        self._restricted: dict[frozenset[str], Pipeline] = {}

    def choose(self, document: Document, asked: Sequence[tuple[int, Sequence[str]]]) -> list[Choice | None]:
        """Return a choice for each asked mention, given by its number in the document and the successors of its id.

        It is None if the pipeline could not link the document, or has none of the successors as a candidate.
        """
        bare = replace(document, mentions=tuple(replace(mention, concept_ids=()) for mention in document.mentions))
        free = self._pipeline.link(bare)
        return [self._choose(bare, free, row, targets) for row, targets in asked]

    def _choose(self, document: Document, free: LinkedDocument, row: int, targets: Sequence[str]) -> Choice | None:
        if not free.is_complete:
            return None
        link = free.links[row]
        ranked = tuple(each.concept_id for each in link.candidates if each.concept_id in targets)
        if link.concept_id in targets and self._is_certain(link):
            return Choice(ranked, True, link.confidence)
        limited = self._restrict(targets).link(replace(document, mentions=(document.mentions[row],)))
        found = tuple(each.concept_id for each in limited.links[0].candidates) if limited.is_complete else ranked
        return Choice(found, False) if found else None

    def _is_certain(self, link: Link) -> bool:
        return not link.tied if link.confidence is None else link.confidence >= self._min

    def _restrict(self, targets: Sequence[str]) -> Pipeline:
        """Return the pipeline with only these concepts."""
        key = frozenset(targets)
        if key not in self._restricted:
            if len(self._restricted) >= _MAX_PIPELINES:
                self._restricted.clear()
            self._restricted[key] = self._pipeline.with_filter(restrict=True, concepts=sorted(key)).with_precision(None)
        return self._restricted[key]
