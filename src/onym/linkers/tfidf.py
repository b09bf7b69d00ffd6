"""TF-IDF linker: links a mention to the concepts whose names share its character 3-grams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Literal

from pydantic import Field

from onym.kb import KnowledgeBase
from onym.kb.ranking import Best, ConceptMask, best_of_each, names_of, rank_scored
from onym.kb.search import open_similarity
from onym.linkers.base import Answers, LinkerConfig, Proposals, SurfaceLinker
from onym.parts import OpenContext
from onym.rerank.evidence import Evidence, name_reasons
from onym.types import Document, Link, Progress, silent


class TfidfLinkerConfig(LinkerConfig):
    """Options of TF-IDF similarity."""

    kind: Literal["tfidf"] = "tfidf"
    expand_abbreviations: bool = Field(default=True, description="Expand abbreviations that the document defines.")
    names_per_mention: int = Field(default=100, ge=1, le=10_000, description="Number of similar names that are retrieved.")


Config = TfidfLinkerConfig  # the registry expects this name in every module


def open(config: TfidfLinkerConfig, kb: KnowledgeBase, context: OpenContext) -> TfidfLinker:
    """Open the linker."""
    return TfidfLinker(kb, config, progress=context.progress)


class TfidfLinker(SurfaceLinker):
    """Links a mention to the concepts whose names are most similar to it, or to its long form.

    >>> from onym.types import Mention
    >>> linker = TfidfLinker(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> doc = Document("1", "hart attack", (Mention(0, 11, "hart attack"),))
    >>> [link.concept_id for linked in linker.link([doc]) for link in linked.links]
    ['mesh:D009203']
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        config: TfidfLinkerConfig | None = None,
        *,
        only: ConceptMask | None = None,
        progress: Progress = silent,
    ) -> None:
        self._config = config or TfidfLinkerConfig()
        super().__init__(kb, expand=self._config.expand_abbreviations)
        self.similarity, self._indexed = open_similarity(kb, only=only, progress=progress), only

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        return {"linker": "tfidf", **self._config.model_dump(exclude={"kind"})}

    def answering(self, top_k: int, only: ConceptMask | None) -> Answers:
        """Return a function that maps queries to the concepts of the most similar names."""
        find = self._finding(top_k, only)
        return lambda queries: [rank_scored(self.kb, best, top_k) for best in find(queries)]

    def proposing(self, top_k: int, only: ConceptMask | None) -> Proposals:
        """Return a function that maps queries to the rows and scores of the best concepts, without their names and labels."""
        find, rank = self._finding(top_k, only), self.kb.order.rank
        return lambda queries: [{concept: score for concept, score, _ in islice(rank(best), top_k)} for best in find(queries)]

    def _finding(self, top_k: int, only: ConceptMask | None) -> Callable[[Sequence[str]], list[Best]]:
        """Return a function that maps queries to the concepts of the most similar names, each with its best score and name."""
        similarity = self.similarity
        if only is not None and only is not self._indexed:
            similarity = similarity.within(names_of(self.kb, only))
        count = max(self._config.names_per_mention, top_k)
        return lambda queries: best_of_each(self.kb, similarity.top(queries, count), only)

    def evidence(self, doc: Document, links: Sequence[Link]) -> list[Evidence]:
        """Return the evidence for each link: the name that matched, and another similar name of the concept."""
        texts = self.queries(doc)
        return [Evidence(name_reasons(self.kb, self.similarity, *each)) for each in zip(texts, links, strict=True)]
