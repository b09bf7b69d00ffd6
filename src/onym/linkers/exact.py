"""Exact-match linker: links a mention to the concepts that have its normalised surface as a name."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from onym.kb import KnowledgeBase
from onym.kb.name_table import WordKeys
from onym.kb.ranking import ConceptMask, Ranked, put_first, rank_concepts
from onym.linkers.base import Answers, DecidesNames, LinkerConfig, SurfaceLinker
from onym.parts import OpenContext
from onym.text.boundaries import words
from onym.text.spelling import other_forms

_CACHE_SIZE = 100_000  # cached queries; more than for other linkers, because results are small


class ExactLinkerConfig(LinkerConfig):
    """Options of exact match."""

    kind: Literal["exact"] = "exact"
    expand_abbreviations: bool = Field(default=True, description="Expand abbreviations that the document defines.")
    inflections: bool = Field(
        default=False, description="Also match the singular or the plural of a name, and its British or American spelling."
    )
    reordered: bool | None = Field(
        default=None, description="Also match the words of a name in another order: loss of hair, hair loss."
    )


Config = ExactLinkerConfig  # the registry expects this name in every module


def open(config: ExactLinkerConfig, kb: KnowledgeBase, context: OpenContext) -> ExactLinker:
    """Open the linker."""
    return ExactLinker(kb, config)


class ExactLinker(SurfaceLinker, DecidesNames):
    """Links a mention to the concepts that have its normalised surface, or its long form, as a name.

    Every candidate has the score 1. If several concepts share the name, `onym.kb.order` breaks the tie; a concept that the name
    decides comes first.

    >>> from onym.types import Document, Mention
    >>> linker = ExactLinker(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> doc = Document("1", "A heart attack.", (Mention(2, 14, "heart attack"),))
    >>> [link.concept_id for linked in linker.link([doc]) for link in linked.links]
    ['mesh:D009203']
    """

    batch = 64
    filters_after_ranking = True

    def __init__(self, kb: KnowledgeBase, config: ExactLinkerConfig | None = None) -> None:
        self._config = config or ExactLinkerConfig()
        super().__init__(kb, expand=self._config.expand_abbreviations, cache_size=_CACHE_SIZE)

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        return {"linker": "exact", **self._config.model_dump(exclude={"kind"}, exclude_none=True)}

    def answering(self, top_k: int, only: ConceptMask | None) -> Answers:
        """Return a function that maps each query to the concepts that have the query as a name."""
        return lambda queries: [self._rank(query, top_k, only) for query in queries]

    def _rank(self, query: str, top_k: int, only: ConceptMask | None) -> Ranked:
        name = self._find(query)
        names = [name] if name >= 0 else self._in_other_order(query)
        if not names:
            return Ranked()
        ranked = rank_concepts(self.kb, [(each, 1.0) for each in names], top_k, only)
        concept = self.kb.order.meaning(name, only)
        return put_first(self.kb, ranked, concept, name) if concept >= 0 else ranked

    @cached_property
    def _word_keys(self) -> WordKeys:
        return WordKeys(self.kb)

    def _in_other_order(self, query: str) -> list[int]:
        """Return the names with the same words as the query, in any order."""
        if not self._config.reordered:
            return []
        return self._word_keys.find([query[start:end] for start, end in words(query)])

    def _find(self, query: str) -> int:
        """Return the id of the name that equals the query, or -1; Unicode spaces count as spaces."""
        plain = " ".join(query.split())
        others = other_forms(plain) if self._config.inflections else ()
        return next((name for name in map(self.kb.names.find, (query, plain, *others)) if name >= 0), -1)
