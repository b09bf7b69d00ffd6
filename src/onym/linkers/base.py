"""What every linker offers, and what one is told.

A linker is one file of this room: a `Config`, how to `open` it, and the class itself. Its short name is the file's name.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pydantic import Field

from onym.corpora.isolation import isolate
from onym.kb import KnowledgeBase
from onym.kb.masks import ConceptMask, describe_mask
from onym.store.parts import ModelReference, PartConfig, Precision
from onym.types import Candidate, Document, Link, LinkedDocument, Problem

_WIDER = 4  # candidates asked for each that is kept where other concepts compete: some of them are left out
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


def link_batches(
    documents: Iterable[Document], link: Callable[[Sequence[Document]], Iterable[Sequence[Link]]], *, batch: int
) -> Iterator[LinkedDocument]:
    """Yield documents with the links that `link` makes of a batch; a document that cannot be linked has a problem instead."""

    def act(docs: Sequence[Document]) -> Iterable[LinkedDocument]:
        return (LinkedDocument(doc, tuple(links)) for doc, links in zip(docs, link(docs), strict=True))

    return isolate(documents, act, _failed, batch=batch)


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
    more among the wanted ones, for candidates to be kept. With `restrict`, the others are as if they were not there.
    """
    if only is None or restrict:
        yield from linker.link(documents, top_k=top_k, only=only)
        return
    wanted = _Wanted(linker.kb, only, top_k)
    freely: deque[LinkedDocument] = deque()

    def left_out() -> Iterator[Document]:
        for linked in linker.link(documents, top_k=_WIDER * top_k):
            freely.append(linked)
            mentions = tuple(link.mention for link in linked.links if wanted.is_left_out(link))
            yield replace(linked.document, mentions=mentions, relations=())

    for linked in linker.link(left_out(), top_k=top_k, only=only):
        yield wanted.merged(freely.popleft(), linked)


def describe_filter(only: ConceptMask | None, *, restrict: bool = False) -> dict[str, Any]:
    """Return what answers depend on where they are among some concepts: which those are, and whether others compete."""
    return {} if only is None else {**describe_mask(only), "others_compete": not restrict}


class _Wanted:
    """Which answers a filter lets through."""

    def __init__(self, kb: KnowledgeBase, only: ConceptMask, top_k: int) -> None:
        self._ids, self._only, self._top_k = kb.concept_ids, only, top_k

    def is_left_out(self, link: Link) -> bool:
        """Tell whether the best meaning of a mention is another concept than the wanted ones."""
        return bool(link.candidates) and not self._is_wanted(link.candidates[0])

    def merged(self, freely: LinkedDocument, among: LinkedDocument) -> LinkedDocument:
        """Return the links of a document: those linked among all concepts, and those linked again among the wanted."""
        if among.problems:
            return replace(freely, links=(), problems=among.problems)
        again = iter(among.links)
        links = (_left_out(next(again)) if self.is_left_out(link) else self._let_through(link) for link in freely.links)
        return replace(freely, links=tuple(links))

    def _is_wanted(self, candidate: Candidate) -> bool:
        return bool(self._only[self._ids.find(candidate.concept_id)])

    def _let_through(self, link: Link) -> Link:
        candidates = tuple(filter(self._is_wanted, link.candidates))
        tied = sum(each.score == candidates[0].score for each in candidates[1:])
        return replace(link, candidates=candidates[: self._top_k], tied=tied)


def _left_out(link: Link) -> Link:
    return replace(link, stage=None, nil_reason="filtered-out" if link.candidates else link.nil_reason)


def _failed(doc: Document, problem: Problem) -> LinkedDocument:
    return LinkedDocument(doc, problems=(problem,))
