"""The linker interface and its base classes: configuration, batching, concept filters and the cache of surfaces.

A linker is one module of this package, with a `Config`, an `open` function and the linker class. Its short name is the module
name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any, ClassVar, Protocol, Self

from pydantic import Field, SerializeAsAny

from onym._version import __version__
from onym.corpora.problems import isolate
from onym.kb import KnowledgeBase
from onym.kb.ranking import Best, ConceptMask, Ranked, describe_mask, put_first, rank_scored
from onym.parts import ModelReference, PartConfig, Precision, of_kind
from onym.registry import LINKERS
from onym.rerank.memory import queries
from onym.rerank.trees import Calibrated
from onym.types import Candidate, Document, Link, LinkedDocument, Mention, Problem

_DOCUMENTS = 32  # that a linker with trees reads at a time
_WIDER = 4  # with a filter, retrieve 4 * top_k candidates, because some of them are filtered out
DECIDED = "decided"
"""Value of `order.ties` in a source: candidates with equal scores are in a meaningful order."""
DEVICE = r"^(auto|cpu|mps|cuda(:[0-9]+)?)$"


class LinkerConfig(PartConfig):
    """The configuration of a linker."""


AnyLinker = Annotated[SerializeAsAny[LinkerConfig], of_kind(LINKERS)]
"""A field for the configuration of any linker, of the class that its `kind` names."""


class ModelLinkerConfig(LinkerConfig):
    """The configuration of a linker that uses a model."""

    model: ModelReference | None = Field(default=None, description="Folder of the model, or its name on the Hugging Face hub.")
    dtype: Precision = Field(default="auto", description="fp32 or bf16; auto means the faster of both on this machine.")
    device: str = Field(default="auto", pattern=DEVICE, description="Device: auto, cpu, cuda, cuda:N or mps.")


class Linker(Protocol):
    """Ranks concepts of one knowledge base for annotated mentions."""

    kb: KnowledgeBase

    @property
    def config(self) -> dict[str, Any]:
        """The linker's name, and all settings that its results depend on except the knowledge base."""

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        """Yield each document with up to `top_k` candidates per mention, best first, restricted to the concepts in `only`.

        Concepts that are not in `only` are ignored completely; with `link_among`, they still compete.
        """


class AnswerSource(Protocol):
    """A linker or pipeline, with its properties that are recorded in the header of a predictions file."""

    kb: KnowledgeBase

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""


def source_of(linker: AnswerSource, top_k: int, **more: Any) -> dict[str, Any]:
    """Return everything that a linker's results depend on, for the header of a predictions file."""
    kb = {"digest": linker.kb.digest, "concepts": len(linker.kb), "names": len(linker.kb.names)}
    order = {"ties": DECIDED, "vocabularies": list(linker.kb.order.vocabularies)}
    return {"onym": __version__, "linker": linker.config, "kb": kb, "order": order, "top_k": top_k, **more}


def link_batches(
    documents: Iterable[Document], link: Callable[[Sequence[Document]], Iterable[Sequence[Link]]], *, batch: int
) -> Iterator[LinkedDocument]:
    """Link documents in batches with the function `link`; a document that fails gets a problem instead of links."""

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
    """Yield each document with candidates from `only`; concepts that are not in `only` still compete.

    If the best candidate of a mention is not in `only`, the mention is left unlinked (NIL): with a filter for diseases, "skin"
    is not linked to skin cancer. All mentions are first linked to all concepts. In a second pass, the unlinked mentions are
    linked to the concepts in `only`, to list their candidates; this is skipped if the first pass found these candidates
    already. With `restrict`, concepts that are not in `only` are ignored completely.

    A concept that the mention's name decides comes first, whatever the linker says (see `onym.kb.order`).
    """
    if only is None or restrict:
        yield from _names_first(linker, linker.link(documents, top_k=top_k, only=only), only)
        return
    wanted = _Wanted(linker, only, top_k)
    freely = _names_first(linker, linker.link(documents, top_k=_WIDER * top_k))
    for linked in freely:
        if any(map(wanted.needs_linking, linked.links)):
            yield from _link_again(linker, wanted, chain([linked], freely))
            return
        yield wanted.merge(linked)


class DecidesNames:
    """Marks a linker that itself puts a concept first that the mention's name decides, so that `link_among` need not do it."""


def _names_first(linker: Linker, found: Iterable[LinkedDocument], only: ConceptMask | None = None) -> Iterator[LinkedDocument]:
    """Yield linked documents with those concepts first that the names of mentions decide, with abbreviations expanded."""
    is_done = isinstance(linker, DecidesNames)
    for linked in found:
        if is_done or not linked.links:
            yield linked
        else:
            texts = queries(linked.document, expand=True)
            links = (_name_first(linker.kb, *each, only) for each in zip(linked.links, texts, strict=True))
            yield replace(linked, links=tuple(links))


def _name_first(kb: KnowledgeBase, link: Link, text: str, only: ConceptMask | None) -> Link:
    name = kb.names.find(text)
    concept = kb.order.meaning(name, only)
    if concept < 0:
        return link
    ranked = Ranked(link.candidates, link.tied)
    first = put_first(kb, ranked, concept, name)
    return link if first is ranked else replace(link, candidates=first.candidates, tied=first.tied)


def _link_again(linker: Linker, wanted: _Wanted, freely: Iterable[LinkedDocument]) -> Iterator[LinkedDocument]:
    """Yield the documents of the first pass; mentions for which `needs_linking` is true are linked again to `wanted.only`."""
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
    """Describe a concept filter for the record of a run: the concepts, and whether other concepts compete."""
    return {} if only is None else {**describe_mask(only), "others_compete": not restrict}


class _Wanted:
    """A concept filter for links; the concepts in `only` are the wanted concepts."""

    def __init__(self, linker: Linker, only: ConceptMask, top_k: int) -> None:
        self.only, self.top_k = only, top_k
        self._ids = linker.kb.concept_ids
        self._filters_after = isinstance(linker, SurfaceLinker) and linker.filters_after_ranking

    def needs_linking(self, link: Link) -> bool:
        """Return True if the mention is unlinked because of the filter, and its wanted candidates may be incomplete."""
        is_complete = self._filters_after and len(link.candidates) < _WIDER * self.top_k
        return not is_complete and self._is_left_out(link)

    def merge(self, freely: LinkedDocument, again: Iterable[Link] = ()) -> LinkedDocument:
        """Merge the links of the first pass (to all concepts) with those of the second pass (to wanted concepts only)."""
        rest = iter(again)
        return replace(freely, links=tuple(self._merge_link(link, rest) for link in freely.links))

    def _merge_link(self, link: Link, again: Iterator[Link]) -> Link:
        if not self._is_left_out(link):
            return self._let_through(link)
        return _filter_out(next(again) if self.needs_linking(link) else self._let_through(link))

    def _is_left_out(self, link: Link) -> bool:
        """Return True if the best candidate is not a wanted concept."""
        return bool(link.candidates) and not self._is_wanted(link.candidates[0])

    def _is_wanted(self, candidate: Candidate) -> bool:
        row = self._ids.find(candidate.concept_id)
        return row >= 0 and bool(self.only[row])

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
"""Maps distinct queries to their candidates, in order."""
Proposals = Callable[[Sequence[str]], list[dict[int, float]]]
"""Maps distinct queries to the rows of concepts with their scores, best first."""


class Cacheable(ABC):
    """A linker that can cache results by surface, because it (or some of its components) ignores context."""

    @abstractmethod
    def with_cache(self) -> Linker:
        """Return a copy with its own, initially empty cache of results by surface."""


def with_cache(linker: Linker) -> Linker:
    """Return a copy of the linker with a cache; a linker that uses context cannot be cached and is returned unchanged."""
    return linker.with_cache() if isinstance(linker, Cacheable) else linker


class Confident:
    """A linker that sets the confidence of its links."""

    kb: KnowledgeBase
    has_confidence = True

    def without_confidence(self) -> Self:
        """Return a copy whose links have no confidence, for pipelines that have their own calibration."""
        made = copy(self)
        made.has_confidence = False
        return made


class TreesLinker(Confident, ABC):
    """A linker that reads one document at a time and scores candidates with trees; a score is a probability."""

    stage: ClassVar[str]
    model: Calibrated

    @abstractmethod
    def score(self, doc: Document) -> Iterable[tuple[Mention, Best]]:
        """Yield the mentions of a document, each with its candidates: the score and the matching name of each concept."""

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        """Yield each document with the candidates of its mentions, most probable first."""

        def links(batch: Sequence[Document]) -> Iterator[list[Link]]:
            for doc in batch:
                yield [self._rank(*each, top_k, only) for each in self.score(doc)]

        return link_batches(documents, links, batch=_DOCUMENTS)

    def _rank(self, mention: Mention, best: Best, top_k: int, only: ConceptMask | None) -> Link:
        allowed = best if only is None else {concept: each for concept, each in best.items() if only[concept]}
        link = rank_scored(self.kb, allowed, top_k).link(mention)
        if not link.candidates:
            return link
        confidence = self.model.confidence(link.candidates[0].score) if self.has_confidence else None
        return replace(link, stage=self.stage, confidence=confidence)


def without_confidence(linker: Linker) -> Linker:
    """Return a linker that does not compute confidences, for a caller that sets its own confidences."""
    return linker.without_confidence() if isinstance(linker, Confident) else linker


class SurfaceLinker(Cacheable):
    """A linker that ignores context: equal queries have equal results in any document.

    Subclasses implement `answering`; this class computes each query only once. `cache_size` is the number of queries whose
    results are kept between batches. Set `filters_after_ranking` if the order of steps does not matter: ranking all
    concepts and then filtering gives the same candidates and scores as ranking only the filtered concepts.
    """

    batch: ClassVar[int] = 256  # documents
    filters_after_ranking: ClassVar[bool] = False

    def __init__(self, kb: KnowledgeBase, *, expand: bool, cache_size: int = CACHE_SIZE) -> None:
        self.kb, self.cache_size, self._expand = kb, cache_size, expand

    @property
    @abstractmethod
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""

    @abstractmethod
    def answering(self, top_k: int, only: ConceptMask | None) -> Answers:
        """Return a function that maps queries to up to `top_k` candidates in `only`."""

    def proposing(self, top_k: int, only: ConceptMask | None) -> Proposals:
        """Return a function that maps queries to the rows and scores of up to `top_k` concepts in `only`, best first."""
        answers, row_of = self.answering(top_k, only), self.kb.concept_ids.find

        def propose(queries: Sequence[str]) -> list[dict[int, float]]:
            found = answers(queries) if queries else ()
            return [{row_of(each.concept_id): each.score for each in ranked.candidates} for ranked in found]

        return propose

    def queries(self, doc: Document) -> list[str]:
        """Return the query of each mention of a document."""
        return queries(doc, expand=self._expand)

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        """Yield each document with up to `top_k` candidates per mention, best first; each distinct query is computed once."""
        return self.with_cache().link(documents, top_k=top_k, only=only)

    def with_cache(self) -> CachingLinker:
        """Return a caching copy."""
        return CachingLinker(self)


class CachingLinker(Cacheable):
    """Wraps a `SurfaceLinker` and caches its results. `SurfaceLinker.link` creates a new wrapper for each call."""

    def __init__(self, linker: SurfaceLinker) -> None:
        self.kb, self._linker = linker.kb, linker
        self._caches: dict[tuple[int, int], tuple[SurfaceCache, ConceptMask | None]] = {}

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        return self._linker.config

    def with_cache(self) -> CachingLinker:
        """Return self."""
        return self

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        """Yield each document with its candidates; the results are the same as from the wrapped linker."""
        cache = self._cache(top_k, only)

        def links(batch: Sequence[Document]) -> Iterator[list[Link]]:
            texts = [self._linker.queries(doc) for doc in batch]
            found = cache.look_up(text for each in texts for text in each)
            for doc, each in zip(batch, texts, strict=True):
                yield [found[text].link(mention) for mention, text in zip(doc.mentions, each, strict=True)]

        return link_batches(documents, links, batch=self._linker.batch)

    def _cache(self, top_k: int, only: ConceptMask | None) -> SurfaceCache:
        """Return the cache for `top_k` and `only`. The mask is stored with it, so that no other mask gets the same id()."""
        key = top_k, id(only)
        if key not in self._caches:
            self._caches[key] = SurfaceCache(self._linker.answering(top_k, only), self._linker.cache_size), only
        return self._caches[key][0]


class SurfaceCache:
    """An LRU cache of results by query, with at most `size` entries.

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
        """Yield the cached queries, least recently used first."""
        return iter(self._known)

    def look_up(self, queries: Iterable[str]) -> Mapping[str, Ranked]:
        """Return the result of each query; queries that are not in the cache are computed together, in order."""
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
