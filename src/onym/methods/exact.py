"""Exact-match linker: links a mention to the concepts that have its normalised surface as a name."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from onym.kb import KnowledgeBase
from onym.kb.name_table import WordKeys
from onym.kb.ranking import ConceptMask, Ranked, put_first, rank_concepts
from onym.methods.base import Linker, LinkerConfig, Rank
from onym.parts import OpenContext
from onym.text.boundaries import words
from onym.text.spelling import other_forms


class ExactLinkerConfig(LinkerConfig):
    """Options of exact match."""

    kind: Literal["exact"] = "exact"
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


class ExactLinker(Linker):
    """Links a mention to the concepts that have its normalised surface, or its long form, as a name.

    Every candidate has the score 1. If several concepts share the name, `onym.kb.order` breaks the tie; a concept that the name
    decides comes first.

    >>> from onym.text.queries import queries_of
    >>> from onym.types import Document, Mention
    >>> linker = ExactLinker(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> doc = Document("1", "A heart attack.", (Mention(2, 14, "heart attack"),))
    >>> [ranked.candidates[0].concept_id for ranked in linker.rank(queries_of(doc))]
    ['mesh:D009203']
    """

    decides_names = keeps_answers = True

    def __init__(self, kb: KnowledgeBase, config: ExactLinkerConfig | None = None) -> None:
        self.kb, self._config = kb, config or ExactLinkerConfig()

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        return {"linker": "exact", **self._config.model_dump(exclude={"kind"}, exclude_none=True)}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        """Return a function that maps each query to the concepts that have its text as a name."""
        return lambda queries: [self._rank(query.text, top_k, allowed) for query in queries]

    def _rank(self, text: str, top_k: int, allowed: ConceptMask | None) -> Ranked:
        name = self._find(text)
        names = [name] if name >= 0 else self._in_other_order(text)
        if not names:
            return Ranked()
        ranked = rank_concepts(self.kb, [(each, 1.0) for each in names], top_k, allowed)
        concept = self.kb.order.meaning(name, allowed)
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
