"""Variant linker: gives a variant mention the rs id that the text states for it, or else its form in HGVS.

A variant need not be a concept of the knowledge base, because its id is computed: `dbsnp:rs113488022`, `hgvs:p.V600E`. With the
symbol of a gene that the document mentions, it is `hgvs:BRAF:p.V600E`; the knowledge base has the symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask
from onym.linkers.base import DecidesNames, LinkerConfig, link_batches
from onym.parts import OpenContext
from onym.types import Document, Link, LinkedDocument
from onym.variants.naming import add_gene, find_annotated_genes, name_variants, nearest_symbol

_BATCH = 64  # documents


class VariantsLinkerConfig(LinkerConfig):
    """The linker of variants has no options."""

    kind: Literal["variants"] = "variants"


Config = VariantsLinkerConfig  # the registry expects this name in every module


def open(config: VariantsLinkerConfig, kb: KnowledgeBase, context: OpenContext) -> VariantsLinker:
    """Open the linker."""
    return VariantsLinker(kb)


class VariantsLinker(DecidesNames):
    """Links a variant mention to the rs id that the text states, or to its form in HGVS.

    A mention of another type has no candidates, nor has a change without a position, such as *32-bp deletion*. Genes are those
    that mentions of the document are annotated with; `onym.variants.naming.add_genes` adds those of linked mentions. With a
    filter of concepts, variants are left out, because they are not concepts of the knowledge base.

    >>> from onym.types import Mention
    >>> linker = VariantsLinker(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> doc = Document("1", "the mutation Val600Glu", (Mention(13, 22, "Val600Glu"),))
    >>> [link.concept_id for linked in linker.link([doc]) for link in linked.links]
    ['hgvs:p.V600E']
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        return {"linker": "variants"}

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        """Yield each document with the ids of its variants, rs ids first."""

        def links(batch: Sequence[Document]) -> Iterator[list[Link]]:
            return ([Link(each) for each in doc.mentions] if only is not None else self._link(doc, top_k) for doc in batch)

        return link_batches(documents, links, batch=_BATCH)

    def _link(self, doc: Document, top_k: int) -> list[Link]:
        genes = find_annotated_genes(doc, self.kb)
        pairs = zip(doc.mentions, name_variants(doc), strict=True)
        links = [Link(mention, candidates[:top_k]) for mention, candidates in pairs]
        return [add_gene(link, nearest_symbol(link.mention, genes)) for link in links] if genes else links
