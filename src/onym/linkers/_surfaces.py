"""Surfaces linked once: a linker that sees the mention alone keeps its answers while one call of `link` lasts.

Texts repeat themselves. The answer of such a linker depends on the query alone, the normalised surface or what it abbreviates,
so it is computed once for all mentions with this query. A cache starts empty and is bounded, so what is in it depends on the
documents of the call and on nothing else. That matters: which queries are computed together changes the last bits of a model's
scores, and with the answers of an earlier call, an output would depend on what the process did before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from onym.kb import KnowledgeBase
from onym.kb.masks import ConceptMask
from onym.kb.ranking import Ranked
from onym.linkers._queries import queries
from onym.linkers.base import Linker, link_batches
from onym.types import Document, Link, LinkedDocument

CACHE_SIZE = 50_000
Answers = Callable[[Sequence[str]], Sequence[Ranked]]
"""Returns the candidates of distinct queries, in their order."""


class Cacheable(ABC):
    """A linker that sees the mention alone, or one with such parts. Linkers that read context are not: they have no cache."""

    @abstractmethod
    def with_cache(self) -> Linker:
        """Return the same linker that keeps its answers to surfaces as long as it lives, empty at first."""


def with_cache(linker: Linker) -> Linker:
    """Return a linker with a cache for the length of a call; a linker that reads context is returned as it is."""
    return linker.with_cache() if isinstance(linker, Cacheable) else linker


class SurfaceLinker(Cacheable):
    """A linker that sees the mention alone: the same query has the same answer in any document.

    Linkers of this kind say how queries are answered; that each is answered once is done here. `cache_size` is the number of
    queries whose answers are kept from one batch to the next.
    """

    batch: ClassVar[int] = 256  # documents

    def __init__(self, kb: KnowledgeBase, *, expand: bool, cache_size: int = CACHE_SIZE) -> None:
        self.kb, self.cache_size, self._expand = kb, cache_size, expand

    @property
    @abstractmethod
    def config(self) -> dict[str, Any]:
        """What was really used."""

    @abstractmethod
    def answering(self, top_k: int, only: ConceptMask | None) -> Answers:
        """Return what answers queries with up to `top_k` concepts among `only`."""

    def queries(self, doc: Document) -> list[str]:
        """Return the query of each mention of a document."""
        return queries(doc, expand=self._expand)

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        """Yield each document with up to `top_k` candidates a mention, best first; each distinct query is answered once."""
        return self.with_cache().link(documents, top_k=top_k, only=only)

    def with_cache(self) -> CachingLinker:
        """Return the same linker that keeps its answers."""
        return CachingLinker(self)


class CachingLinker(Cacheable):
    """A linker that sees the mention alone, and the answers that it gave so far. It is made anew for each call that uses it."""

    def __init__(self, linker: SurfaceLinker) -> None:
        self.kb, self._linker = linker.kb, linker
        self._caches: dict[tuple[int, int], tuple[SurfaceCache, ConceptMask | None]] = {}

    @property
    def config(self) -> dict[str, Any]:
        """What was really used."""
        return self._linker.config

    def with_cache(self) -> CachingLinker:
        """Return itself: it has a cache."""
        return self

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        """Yield each document with its candidates, as the linker itself does."""
        cache = self._cache(top_k, only)

        def links(batch: Sequence[Document]) -> Iterator[list[Link]]:
            texts = [self._linker.queries(doc) for doc in batch]
            found = cache.look_up(text for each in texts for text in each)
            for doc, each in zip(batch, texts, strict=True):
                yield [found[text].link(mention) for mention, text in zip(doc.mentions, each, strict=True)]

        return link_batches(documents, links, batch=self._linker.batch)

    def _cache(self, top_k: int, only: ConceptMask | None) -> SurfaceCache:
        """Return the cache of these candidates. The mask is kept with it, so that no other one gets its id."""
        key = top_k, id(only)
        if key not in self._caches:
            self._caches[key] = SurfaceCache(self._linker.answering(top_k, only), self._linker.cache_size), only
        return self._caches[key][0]


class SurfaceCache:
    """Answers by query, `size` of them at most. Those used last are dropped last.

    >>> cache = SurfaceCache(lambda queries: [Ranked(tied=len(query)) for query in queries], size=2)
    >>> {query: answer.tied for query, answer in cache.look_up(["fever", "flu", "fever", "mi"]).items()}
    {'fever': 5, 'flu': 3, 'mi': 2}
    >>> list(cache)
    ['flu', 'mi']
    """

    def __init__(self, answers: Answers, size: int) -> None:
        self._answers, self._size = answers, size
        self._known: OrderedDict[str, Ranked] = OrderedDict()

    def __iter__(self) -> Iterator[str]:
        """Yield the queries whose answers are kept, the one to be dropped next first."""
        return iter(self._known)

    def look_up(self, queries: Iterable[str]) -> Mapping[str, Ranked]:
        """Return the answer to each query; those that are not known are computed together, in order."""
        wanted, known = dict.fromkeys(queries), self._known
        new = []
        for query in wanted:
            if query in known:
                known.move_to_end(query)
            else:
                new.append(query)
        known.update(zip(new, self._answers(new) if new else (), strict=True))
        found = {query: known[query] for query in wanted}
        while len(known) > self._size:
            known.popitem(last=False)
        return found
