"""TF-IDF linker: links a mention to the concepts whose names share its character 3-grams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Literal

from pydantic import Field

from onym.kb import KnowledgeBase
from onym.kb.ranking import Best, ConceptMask, best_of_each, names_of, rank_scored
from onym.kb.search import open_similarity
from onym.methods.base import Linker, LinkerConfig, Propose, Rank
from onym.methods.evidence import Evidence, name_reasons
from onym.parts import OpenContext
from onym.text.queries import Query
from onym.types import Link, Progress, silent


class TfidfLinkerConfig(LinkerConfig):
    """Options of TF-IDF similarity."""

    kind: Literal["tfidf"] = "tfidf"
    names_per_mention: int = Field(default=100, ge=1, le=10_000, description="Number of similar names that are retrieved.")


Config = TfidfLinkerConfig  # the registry expects this name in every module


def open(config: TfidfLinkerConfig, kb: KnowledgeBase, context: OpenContext) -> TfidfLinker:
    """Open the linker."""
    return TfidfLinker(kb, config, progress=context.progress)


class TfidfLinker(Linker):
    """Links a mention to the concepts whose names are most similar to it, or to its long form.

    >>> from onym.text.queries import queries_of
    >>> from onym.types import Document, Mention
    >>> linker = TfidfLinker(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> doc = Document("1", "hart attack", (Mention(0, 11, "hart attack"),))
    >>> [ranked.candidates[0].concept_id for ranked in linker.rank(queries_of(doc))]
    ['mesh:D009203']
    """

    keeps_answers = True

    def __init__(
        self,
        kb: KnowledgeBase,
        config: TfidfLinkerConfig | None = None,
        *,
        only: ConceptMask | None = None,
        progress: Progress = silent,
    ) -> None:
        self.kb, self._config = kb, config or TfidfLinkerConfig()
        self.similarity, self._indexed = open_similarity(kb, only=only, progress=progress), only

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        return {"linker": "tfidf", **self._config.model_dump(exclude={"kind"})}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        """Return a function that maps queries to the concepts of the most similar names."""
        find = self._finding(top_k, allowed)
        return lambda queries: [rank_scored(self.kb, best, top_k) for best in find(queries)]

    def proposing(self, top_k: int, allowed: ConceptMask | None = None) -> Propose:
        """Return a function that maps queries to rows and scores of concepts, without looking up their names."""
        find, order = self._finding(top_k, allowed), self.kb.order.rank
        return lambda queries: [{row: score for row, score, _ in islice(order(best), top_k)} for best in find(queries)]

    def _finding(self, top_k: int, allowed: ConceptMask | None) -> Callable[[Sequence[Query]], list[Best]]:
        similarity = self.similarity
        if allowed is not None and allowed is not self._indexed:
            similarity = similarity.within(names_of(self.kb, allowed))
        count = max(self._config.names_per_mention, top_k)
        return lambda queries: best_of_each(self.kb, similarity.top([query.text for query in queries], count), allowed)

    def evidence(self, queries: Sequence[Query], links: Sequence[Link]) -> list[Evidence]:
        """Return the evidence for each link: the name that matched, and another similar name of the concept."""
        pairs = zip(queries, links, strict=True)
        return [Evidence(name_reasons(self.kb, self.similarity, query.text, link)) for query, link in pairs]
