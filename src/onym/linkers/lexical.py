"""Two linkers that need no training: exact match, and likeness of character 3-grams. Both see the mention alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from onym.kb import KnowledgeBase
from onym.linkers.base import ConceptMask, Linked, names_of, ranked
from onym.text.abbreviations import Abbreviations
from onym.text.analysis import analysis_of
from onym.text.normal import normal_name
from onym.text.similarity import NameSimilarity
from onym.types import Candidate, Document, Link, Mention

_BATCH = 256  # documents
_CACHE_SIZE = 50_000  # answers: texts repeat themselves


class ExactLinker:
    """Links a mention to the concepts that have its normalised surface as a name, or that of what it abbreviates.

    Every candidate has the score 1: a name of several concepts is a tie.

    >>> linker = ExactLinker(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> doc = Document("1", "A heart attack.", (Mention(2, 14, "heart attack"),))
    >>> [link.concept_id for linked in linker.link([doc]) for link in linked.links]
    ['mesh:D009203']
    """

    def __init__(self, kb: KnowledgeBase, *, expand: bool = True) -> None:
        self.kb = kb
        self.config: dict[str, Any] = {"linker": "exact", "expand_abbreviations": expand}
        self._expand = expand

    def link(self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None) -> Iterator[Linked]:
        """Yield each document with the concepts that its mentions name."""
        candidates = lru_cache(_CACHE_SIZE)(lambda query: self._candidates(query, top_k, only))
        for doc in documents:
            texts = zip(doc.mentions, _queries(doc, expand=self._expand), strict=True)
            yield Linked(doc, tuple(Link(mention, candidates(query)) for mention, query in texts))

    def _candidates(self, query: str, top_k: int, only: ConceptMask | None) -> tuple[Candidate, ...]:
        name = self._place(query)
        return ranked(self.kb, [(name, 1.0)], top_k, only) if name >= 0 else ()

    def _place(self, query: str) -> int:
        """Return the place of a name, or -1. Spaces that only Unicode knows, as typesetters use them, are spaces too."""
        place = self.kb.names.find(query)
        plain = " ".join(query.split())
        return place if place >= 0 or plain == query else self.kb.names.find(plain)


class TfidfLinker:
    """Links a mention to the concepts whose names are most like it, or like what it abbreviates.

    >>> linker = TfidfLinker(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> doc = Document("1", "hart attack", (Mention(0, 11, "hart attack"),))
    >>> [link.concept_id for linked in linker.link([doc]) for link in linked.links]
    ['mesh:D009203']
    """

    def __init__(self, kb: KnowledgeBase, *, expand: bool = True, names_per_mention: int = 100) -> None:
        self.kb = kb
        self.config: dict[str, Any] = {
            "linker": "tfidf",
            "expand_abbreviations": expand,
            "names_per_mention": names_per_mention,
        }
        self._expand = expand
        self._wide = names_per_mention
        self.similarity = NameSimilarity.of(kb.names)

    def link(self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None) -> Iterator[Linked]:
        """Yield each document with the concepts of the names most like its mentions."""
        similarity = self.similarity if only is None else self.similarity.within(names_of(self.kb, only))
        rest = iter(documents)
        while batch := list(islice(rest, _BATCH)):
            queries = [_queries(doc, expand=self._expand) for doc in batch]
            distinct = list(dict.fromkeys(text for texts in queries for text in texts))
            found = dict(zip(distinct, similarity.top(distinct, max(self._wide, top_k)), strict=True))
            for doc, texts in zip(batch, queries, strict=True):
                links = (
                    Link(mention, ranked(self.kb, zip(*map(np.ndarray.tolist, found[text]), strict=True), top_k, only))
                    for mention, text in zip(doc.mentions, texts, strict=True)
                )
                yield Linked(doc, tuple(links))


def _queries(doc: Document, *, expand: bool) -> list[str]:
    """Return what to look up for each mention: its normalised surface, or that of what it abbreviates in this document."""
    known = analysis_of(doc).abbreviations if expand and doc.mentions else Abbreviations(())
    return [_query(mention, known) for mention in doc.mentions]


def _query(mention: Mention, known: Abbreviations) -> str:
    return normal_name(known.expand(mention.surface) or mention.surface)
