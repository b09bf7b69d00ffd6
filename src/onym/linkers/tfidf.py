"""TF-IDF similarity: a mention means the concepts whose names share its character 3-grams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field

from onym.kb import KnowledgeBase
from onym.kb.masks import ConceptMask, names_of
from onym.kb.ranking import rank_concepts
from onym.linkers._queries import queries
from onym.linkers.base import LinkerConfig, link_batches
from onym.store.parts import OpenContext
from onym.text.similarity import NameSimilarity
from onym.types import Document, Link, LinkedDocument

_BATCH = 256  # documents


class Config(LinkerConfig):
    """TF-IDF similarity."""

    kind: Literal["tfidf"] = "tfidf"
    expand_abbreviations: bool = Field(default=True, description="Look up what an abbreviation stands for in its document.")
    names_per_mention: int = Field(default=100, ge=1, le=10_000, description="How many similar names are looked at.")


def open(config: Config, kb: KnowledgeBase, context: OpenContext) -> TfidfLinker:
    """Open the linker."""
    return TfidfLinker(kb, config)


class TfidfLinker:
    """Links a mention to the concepts whose names are most similar to it, or to what it abbreviates.

    >>> from onym.types import Mention
    >>> linker = TfidfLinker(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> doc = Document("1", "hart attack", (Mention(0, 11, "hart attack"),))
    >>> [link.concept_id for linked in linker.link([doc]) for link in linked.links]
    ['mesh:D009203']
    """

    def __init__(self, kb: KnowledgeBase, config: Config | None = None) -> None:
        self.kb = kb
        self._config = config or Config()
        self.similarity = NameSimilarity.of(kb.names)

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
