"""What every linker offers, and what one is told.

A linker is one file of this room: a `Config`, how to `open` it, and the class itself. Its short name is the file's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from pydantic import Field

from onym.corpora.isolation import isolate
from onym.kb import KnowledgeBase
from onym.kb.masks import ConceptMask
from onym.store.parts import ModelReference, PartConfig, Precision
from onym.types import Document, Link, LinkedDocument, Problem

DEVICE = r"^(auto|cpu|mps|cuda(:[0-9]+)?)$"


class LinkerConfig(PartConfig):
    """The configuration of a linker."""


class ModelLinkerConfig(LinkerConfig):
    """The configuration of a linker with a model."""

    model: ModelReference | None = Field(default=None, description="Folder of the model, or its name on the hub.")
    precision: Precision = Field(default="auto", description="fp32 or bf16; auto chooses what is fast on this machine.")
    device: str = Field(default="auto", pattern=DEVICE, description="Where the model runs: auto, cpu, cuda, cuda:N or mps.")


class Linker(Protocol):
    """Proposes concepts of one knowledge base for annotated mentions."""

    kb: KnowledgeBase

    @property
    def config(self) -> dict[str, Any]:
        """What was really used: the linker's name, and everything that its answers depend on besides the knowledge base."""

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        """Yield each document with up to `top_k` candidates a mention, best first, all of them among `only`."""


def link_batches(
    documents: Iterable[Document], link: Callable[[Sequence[Document]], Iterable[Sequence[Link]]], *, batch: int
) -> Iterator[LinkedDocument]:
    """Yield documents with the links that `link` makes of a batch; a document that cannot be linked has a problem instead."""

    def act(docs: Sequence[Document]) -> Iterable[LinkedDocument]:
        return (LinkedDocument(doc, tuple(links)) for doc, links in zip(docs, link(docs), strict=True))

    return isolate(documents, act, _failed, batch=batch)


def _failed(doc: Document, problem: Problem) -> LinkedDocument:
    return LinkedDocument(doc, problems=(problem,))
