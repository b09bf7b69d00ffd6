"""What every linker offers, its configuration, linking in batches, and the cache of surfaces.

A linker is one file of this package: a `Config`, how to `open` it, and the class itself. Its short name is the file's name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, Protocol

from pydantic import Field

from onym._version import __version__
from onym.corpora.problems import isolate
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked, describe_mask
from onym.parts import ModelReference, PartConfig, Precision
from onym.rerank.memory import queries
from onym.types import Candidate, Document, Link, LinkedDocument, Problem

_WIDER = 4  # candidates asked for each that is kept where other concepts compete: some of them are left out
DECIDED = "decided"
"""What `order.ties` of a source says where equal scores are in a meaningful order."""
DEVICE = r"^(auto|cpu|mps|cuda(:[0-9]+)?)$"


class LinkerConfig(PartConfig):
    """The configuration of a linker."""


class ModelLinkerConfig(LinkerConfig):
    """The configuration of a linker with a model."""

    model: ModelReference | None = Field(default=None, description="Folder of the model, or its name on the Hugging Face hub.")
    dtype: Precision = Field(default="auto", description="fp32 or bf16; auto is the faster one on this machine.")
    device: str = Field(default="auto", pattern=DEVICE, description="Device: auto, cpu, cuda, cuda:N or mps.")


class Linker(Protocol):
    """Proposes concepts of one knowledge base for annotated mentions."""

    kb: KnowledgeBase

    @property
    def config(self) -> dict[str, Any]:
        """What was really used: the linker's name, and everything that its answers depend on besides the knowledge base."""

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        """Yield each document with up to `top_k` candidates a mention, best first, all of them among `only`.

        Other concepts are as if they were not there; `link_among` lets them compete.
        """


class AnswerSource(Protocol):
    """A linker or pipeline, as far as its answers depend on it."""

    kb: KnowledgeBase

    @property
    def config(self) -> dict[str, Any]:
        """What was really used."""


def source_of(linker: AnswerSource, top_k: int, **more: Any) -> dict[str, Any]:
    """Return what the answers of a linker depend on, for the first line of a predictions file."""
    kb = {"digest": linker.kb.digest, "concepts": len(linker.kb), "names": len(linker.kb.names)}
    order = {"ties": DECIDED, "vocabularies": list(linker.kb.order.vocabularies)}
    return {"onym": __version__, "linker": linker.config, "kb": kb, "order": order, "top_k": top_k, **more}


def link_batches(
    documents: Iterable[Document], link: Callable[[Sequence[Document]], Iterable[Sequence[Link]]], *, batch: int
) -> Iterator[LinkedDocument]:
    """Yield documents with the links that `link` makes of a batch; a document that cannot be linked has a problem instead."""

    def act(docs: Sequence[Document]) -> Iterable[LinkedDocument]:
        return (LinkedDocument(doc, tuple(links)) for doc, links in zip(docs, link(docs), strict=True))

    return isolate(documents, act, _fail_document, batch=batch)


def link_among(
    linker: Linker,
    documents: Iterable[Document],
    *,
    top_k: int = 10,
    only: ConceptMask | None = None,
    restrict: bool = False,
) -> Iterator[LinkedDocument]:
    """Yield each document with candidates among `only`, where the other concepts stay competitors.

    A mention whose first answer without the filter is one of the others is left unlinked (NIL): "skin" is no skin cancer, also
    if only diseases may be answers. All mentions are linked among all concepts; those that are left unlinked are linked once
    more among the wanted ones, for candidates to be kept, unless the first pass has these candidates already. With `restrict`,
    the others are as if they were not there.
    """
    if only is None or restrict:
        yield from linker.link(documents, top_k=top_k, only=only)
        return
    wanted = _Wanted(linker, only, top_k)
    freely = linker.link(documents, top_k=_WIDER * top_k)
    for linked in freely:
        if any(map(wanted.needs_linking, linked.links)):
            yield from _link_again(linker, wanted, chain([linked], freely))
            return
        yield wanted.merge(linked)


def _link_again(linker: Linker, wanted: _Wanted, freely: Iterable[LinkedDocument]) -> Iterator[LinkedDocument]:
    """Yield documents linked among all concepts, where mentions that need it are linked again among the wanted ones."""
    pending: deque[LinkedDocument] = deque()

    def left_out() -> Iterator[Document]:
        for linked in freely:
            pending.append(linked)
            mentions = tuple(link.mention for link in linked.links if wanted.needs_linking(link))
            yield replace(linked.document, mentions=mentions, relations=())

    for again in linker.link(left_out(), top_k=wanted.top_k, only=wanted.only):
        linked = pending.popleft()
        yield replace(linked, links=(), problems=again.problems) if again.problems else wanted.merge(linked, again.links)


def describe_filter(only: ConceptMask | None, *, restrict: bool = False) -> dict[str, Any]:
    """Return what answers depend on where they are among some concepts: which those are, and whether others compete."""
    return {} if only is None else {**describe_mask(only), "others_compete": not restrict}


class _Wanted:
    """Which answers a filter lets through."""

    def __init__(self, linker: Linker, only: ConceptMask, top_k: int) -> None:
        self.only, self.top_k = only, top_k
        self._ids = linker.kb.concept_ids
        self._filters_after = isinstance(linker, SurfaceLinker) and linker.filters_after_ranking

    def needs_linking(self, link: Link) -> bool:
        """Return True if the candidates of a mention that is left out are not known from the first pass."""
        is_complete = self._filters_after and len(link.candidates) < _WIDER * self.top_k
        return not is_complete and self._is_left_out(link)

    def merge(self, freely: LinkedDocument, again: Iterable[Link] = ()) -> LinkedDocument:
        """Return the links of a document: those linked among all concepts, and those linked again among the wanted."""
        rest = iter(again)
        return replace(freely, links=tuple(self._merge_link(link, rest) for link in freely.links))

    def _merge_link(self, link: Link, again: Iterator[Link]) -> Link:
        if not self._is_left_out(link):
            return self._let_through(link)
        return _filter_out(next(again) if self.needs_linking(link) else self._let_through(link))

    def _is_left_out(self, link: Link) -> bool:
        """Return True if the best meaning of a mention is another concept than the wanted ones."""
        return bool(link.candidates) and not self._is_wanted(link.candidates[0])

    def _is_wanted(self, candidate: Candidate) -> bool:
        return bool(self.only[self._ids.find(candidate.concept_id)])

    def _let_through(self, link: Link) -> Link:
        candidates = tuple(filter(self._is_wanted, link.candidates))
        tied = sum(each.score == candidates[0].score for each in candidates[1:])
        return replace(link, candidates=candidates[: self.top_k], tied=tied)


def _filter_out(link: Link) -> Link:
    return replace(link, stage=None, nil_reason="filtered-out" if link.candidates else link.nil_reason)


def _fail_document(doc: Document, problem: Problem) -> LinkedDocument:
    return LinkedDocument(doc, problems=(problem,))


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


class Confident(ABC):
    """A linker that gives its links a confidence of its own."""

    @abstractmethod
    def without_confidence(self) -> Linker:
        """Return the same linker whose links have no confidence."""


def without_confidence(linker: Linker) -> Linker:
    """Return a linker that does not compute confidences, for a caller that replaces them."""
    return linker.without_confidence() if isinstance(linker, Confident) else linker


class SurfaceLinker(Cacheable):
    """A linker that sees the mention alone: the same query has the same answer in any document.

    Linkers of this kind say how queries are answered; that each is answered once is done here. `cache_size` is the number of
    queries whose answers are kept from one batch to the next. `filters_after_ranking` declares that the candidates among some
    concepts are those among all concepts without the others, in the same order and with the same scores.
    """

    batch: ClassVar[int] = 256  # documents
    filters_after_ranking: ClassVar[bool] = False

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
