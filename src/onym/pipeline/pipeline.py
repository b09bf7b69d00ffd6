"""A pipeline that is open: texts in, links out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from onym.detect.base import Detector
from onym.kb.masks import ConceptMask
from onym.linkers.base import Linked, Linker
from onym.predictions.file import source_of
from onym.types import Document, Link

_BATCH = 64  # documents that a detector sees together


class Pipeline:
    """A detector and a linker over one knowledge base. Without a detector, mentions have to be given.

    >>> from onym.detect.dictionary import DictionaryDetector
    >>> from onym.kb import KnowledgeBase
    >>> from onym.linkers.lexical import ExactLinker
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb))
    >>> [(link.mention.surface, link.concept_id) for link in pipeline.link("High fever, no heart attack.").links]
    [('fever', 'mesh:D005334'), ('heart attack', 'mesh:D009203')]
    """

    def __init__(
        self,
        linker: Linker,
        detector: Detector | None = None,
        *,
        only: ConceptMask | None = None,
        threshold: float | None = None,
        top_k: int = 10,
    ) -> None:
        self.kb = linker.kb
        self.linker, self.detector = linker, detector
        self._only, self._threshold, self._top_k = only, threshold, top_k

    @property
    def config(self) -> dict[str, Any]:
        """What was really used, part by part."""
        limited = {} if self._only is None else {"concepts_allowed": int(self._only.sum())}
        detector = {"detector": "none"} if self.detector is None else self.detector.config
        return {"detector": detector, "linker": self.linker.config, "threshold": self._threshold, **limited}

    def source(self) -> dict[str, Any]:
        """Return what the answers depend on, for the first line of a file of predictions."""
        own = {name: value for name, value in self.config.items() if name != "linker"}
        return source_of(self.linker, self._top_k, **own)

    def with_threshold(self, threshold: float | None) -> Pipeline:
        """Return the same pipeline with another threshold."""
        return Pipeline(self.linker, self.detector, only=self._only, threshold=threshold, top_k=self._top_k)

    def link(self, text: str | Document) -> Linked:
        """Link one text, or one document: the mentions that it has are kept, and looked for where it has none."""
        return next(self.iter_linked([text if isinstance(text, Document) else Document("", text)]))

    def iter_linked(self, documents: Iterable[Document]) -> Iterator[Linked]:
        """Yield documents with their links, in order. They are read as they are needed, some hundred at a time."""
        linked = self.linker.link(self._with_mentions(documents), top_k=self._top_k, only=self._only)
        return linked if self._threshold is None else map(self._sure, linked)

    def _with_mentions(self, documents: Iterable[Document]) -> Iterator[Document]:
        rest = iter(documents)
        while batch := list(islice(rest, _BATCH)):
            bare = [doc for doc in batch if not doc.mentions]
            found = iter(() if self.detector is None else self.detector.detect(bare))
            for doc in batch:
                yield doc if doc.mentions or self.detector is None else _with_rest(doc, next(found).document)

    def _sure(self, linked: Linked) -> Linked:
        """Take away the answers that are below the threshold."""
        return replace(
            linked, links=tuple(link if self._is_sure(link) else replace(link, candidates=()) for link in linked.links)
        )

    def _is_sure(self, link: Link) -> bool:
        return self._threshold is None or not link.candidates or link.candidates[0].score >= self._threshold


def _with_rest(doc: Document, found: Document) -> Document:
    """Return a document with the mentions that were found; relations between concepts stay, as nothing else speaks of them."""
    return replace(doc, mentions=found.mentions)
