"""TF-IDF similarity: a mention means the concepts whose names share its character 3-grams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field

from onym.kb import KnowledgeBase
from onym.kb.masks import ConceptMask, names_of
from onym.kb.ranking import rank_concepts
from onym.kb.similarity import open_similarity
from onym.linkers._evidence import Evidence, name_reasons
from onym.linkers._queries import queries
from onym.linkers.base import LinkerConfig, link_batches
from onym.store.parts import OpenContext
from onym.types import Document, Link, LinkedDocument, Progress, silent

_BATCH = 256  # documents


class Config(LinkerConfig):
    """TF-IDF similarity."""

    kind: Literal["tfidf"] = "tfidf"
    expand_abbreviations: bool = Field(default=True, description="Expand abbreviations that the document defines.")
    names_per_mention: int = Field(default=100, ge=1, le=10_000, description="Number of similar names that are retrieved.")


def open(config: Config, kb: KnowledgeBase, context: OpenContext) -> TfidfLinker:
    """Open the linker."""
    return TfidfLinker(kb, config, progress=context.progress)


class TfidfLinker:
    """Links a mention to the concepts whose names are most similar to it, or to what it abbreviates.

    >>> from onym.types import Mention
    >>> linker = TfidfLinker(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> doc = Document("1", "hart attack", (Mention(0, 11, "hart attack"),))
    >>> [link.concept_id for linked in linker.link([doc]) for link in linked.links]
    ['mesh:D009203']
    """

    def __init__(self, kb: KnowledgeBase, config: Config | None = None, *, progress: Progress = silent) -> None:
        self.kb = kb
        self._config = config or Config()
        self.similarity = open_similarity(kb, progress=progress)

    @property
    def config(self) -> dict[str, Any]:
        """What was really used."""
        return {"linker": "tfidf", **self._config.model_dump(exclude={"kind"})}

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        """Yield each document with the concepts of the names most similar to its mentions."""
        similarity = self.similarity if only is None else self.similarity.within(names_of(self.kb, only))
        count = max(self._config.names_per_mention, top_k)

        def links(batch: Sequence[Document]) -> Iterator[list[Link]]:
            texts = [queries(doc, expand=self._config.expand_abbreviations) for doc in batch]
            distinct = list(dict.fromkeys(query for each in texts for query in each))
            found = dict(zip(distinct, similarity.top(distinct, count), strict=True))
            for doc, each in zip(batch, texts, strict=True):
                names = (zip(*map(np.ndarray.tolist, found[query]), strict=True) for query in each)
                ranked = [rank_concepts(self.kb, scored, top_k, only) for scored in names]
                yield [each.link(mention) for mention, each in zip(doc.mentions, ranked, strict=True)]

        return link_batches(documents, links, batch=_BATCH)

    def evidence(self, doc: Document, links: Sequence[Link]) -> list[Evidence]:
        """Return of each link the name that matched, and another one that is similar."""
        texts = queries(doc, expand=self._config.expand_abbreviations)
        return [Evidence(name_reasons(self.kb, self.similarity, *each)) for each in zip(texts, links, strict=True)]
