"""Step 3: link the mentions. A linker ranks concepts; filters, and the isolation of documents that fail, are here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from threading import Lock

from onym.corpora.problems import isolate
from onym.kb.ranking import ConceptMask, Ranked
from onym.methods.base import Linker, Rank, open_ranking
from onym.text.queries import Query, queries_of
from onym.types import Candidate, Document, Link, LinkedDocument, Problem

_WIDER = 4  # with a filter, rank 4 * top_k candidates, because some of them are filtered out
_IDLE = 2  # linkings that are kept for the next calls, with their answers: about 120 MB each if texts vary without end


@dataclass(frozen=True)
class LinkOptions:
    """How mentions are linked.

    If `allowed` is given, other concepts still compete: a mention whose best concept is not allowed is left unlinked (NIL),
    so that with a filter for diseases "skin" is not linked to skin cancer. With `restrict`, other concepts are ignored.
    With `expand`, abbreviations that the document defines stand for their long form. With `names`, the concept that a
    mention's name decides comes first.
    """

    top_k: int = 10
    allowed: ConceptMask | None = None
    restrict: bool = False
    expand: bool = True
    names: bool = True

    def is_same_as(self, other: LinkOptions) -> bool:
        """Return whether a linking with these options serves the others. Masks are compared by identity."""
        own, others = ((each.top_k, each.restrict, each.expand, each.names) for each in (self, other))
        return self.allowed is other.allowed and own == others


class Linking:
    """Links documents with the rankings of one linker, which keep answers. Used by one thread at a time."""

    def __init__(self, linker: Linker, options: LinkOptions) -> None:
        self.linker, self.options = linker, options

    def link(self, documents: Sequence[Document]) -> list[LinkedDocument]:
        """Return linked documents; a document that fails has a problem instead of links."""
        return list(isolate(documents, self._link_batch, _fail, batch=max(1, len(documents))))

    def _link_batch(self, documents: Sequence[Document]) -> list[LinkedDocument]:
        queries = [queries_of(document, expand=self.options.expand) for document in documents]
        links = iter(self._link_queries([query for group in queries for query in group]))
        return [
            LinkedDocument(document, tuple(islice(links, len(group))))
            for document, group in zip(documents, queries, strict=True)
        ]

    def _link_queries(self, queries: Sequence[Query]) -> list[Link]:
        if self.options.allowed is None or self.options.restrict:
            ranked = self._allowed_only(queries)
            return [each.link(query.mention) for query, each in zip(queries, ranked, strict=True)]
        ranked = self._all_concepts(queries)
        links = [self._keep_allowed(each).link(query.mention) for query, each in zip(queries, ranked, strict=True)]
        # A mention whose best concept is not allowed is unlinked; it is ranked again to list its allowed candidates.
        rows = [row for row, each in enumerate(ranked) if each.candidates and not self._is_allowed(each.candidates[0])]
        again = self._allowed_only([queries[row] for row in rows]) if rows else ()
        for row, each in zip(rows, again, strict=True):
            link = replace(each, stage=None).link(queries[row].mention)
            links[row] = replace(link, nil_reason="filtered-out") if link.candidates else link
        return links

    @cached_property
    def _allowed_only(self) -> Rank:
        return open_ranking(self.linker, self.options.top_k, self.options.allowed, names=self.options.names)

    @cached_property
    def _all_concepts(self) -> Rank:
        return open_ranking(self.linker, _WIDER * self.options.top_k, names=self.options.names)

    def _keep_allowed(self, ranked: Ranked) -> Ranked:
        candidates = tuple(filter(self._is_allowed, ranked.candidates))
        tied = sum(each.score == candidates[0].score for each in candidates[1:])
        return replace(ranked, candidates=candidates[: self.options.top_k], tied=tied)

    def _is_allowed(self, candidate: Candidate) -> bool:
        row, allowed = self.linker.kb.concept_ids.find(candidate.concept_id), self.options.allowed
        return allowed is None or (row >= 0 and bool(allowed[row]))


class IdleLinkings:
    """Linkings that no call uses at the moment, for the copies of a pipeline that share a linker. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: list[Linking] = []

    @contextmanager
    def borrow(self, linker: Linker, options: LinkOptions) -> Iterator[Linking]:
        """Yield a linking that no other call uses, an idle one if there is one for these options."""
        linking = self._take(options) or Linking(linker, options)
        try:
            yield linking
        finally:
            if linker.keeps_answers:
                with self._lock:
                    self._idle = [*self._idle, linking][-_IDLE:]

    def _take(self, options: LinkOptions) -> Linking | None:
        with self._lock:
            for row, linking in enumerate(self._idle):
                if linking.options.is_same_as(options):
                    return self._idle.pop(row)
        return None


def _fail(document: Document, problem: Problem) -> LinkedDocument:
    return LinkedDocument(document, problems=(problem,))
