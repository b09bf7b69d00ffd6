"""Variant linker: gives a variant mention the rs id that the text states for it, or else its form in HGVS.

A variant need not be a concept of the knowledge base, because its id is computed: `dbsnp:rs113488022`, `hgvs:p.V600E`. With the
symbol of a gene that the document mentions, it is `hgvs:BRAF:p.V600E`; the knowledge base has the symbols.
"""

from __future__ import annotations

from typing import Any, Literal

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked
from onym.methods.base import Linker, LinkerConfig, Rank
from onym.methods.variants.naming import add_gene, find_annotated_genes, name_variants, nearest_symbol
from onym.parts import OpenContext
from onym.text.queries import documents_of
from onym.types import Candidate, Document


class VariantsLinkerConfig(LinkerConfig):
    """The linker of variants has no options."""

    kind: Literal["variants"] = "variants"


Config = VariantsLinkerConfig  # the registry expects this name in every module


def open(config: VariantsLinkerConfig, kb: KnowledgeBase, context: OpenContext) -> VariantsLinker:
    """Open the linker."""
    return VariantsLinker(kb)


class VariantsLinker(Linker):
    """Links a variant mention to the rs id that the text states, or to its form in HGVS.

    A mention of another type has no candidates, nor has a change without a position, such as *32-bp deletion*. Genes are those
    that mentions of the document are annotated with; `add_genes` of `naming` adds those of linked mentions. With a filter of
    concepts, variants are left out, because they are not concepts of the knowledge base.

    >>> from onym.text.queries import queries_of
    >>> from onym.types import Mention
    >>> linker = VariantsLinker(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> doc = Document("1", "the mutation Val600Glu", (Mention(13, 22, "Val600Glu"),))
    >>> [ranked.candidates[0].concept_id for ranked in linker.rank(queries_of(doc))]
    ['hgvs:p.V600E']
    """

    reads_context = decides_names = True

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        return {"linker": "variants"}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        """Return a function that gives the ids of variants, rs ids first."""
        if allowed is not None:
            return lambda queries: [Ranked()] * len(queries)
        return lambda queries: [each for doc in documents_of(queries) for each in self._rank(doc, top_k)]

    def _rank(self, doc: Document, top_k: int) -> list[Ranked]:
        genes = find_annotated_genes(doc, self.kb)
        found = [_ranked(candidates[:top_k]) for candidates in name_variants(doc)]
        pairs = zip(doc.mentions, found, strict=True)
        return [add_gene(each, nearest_symbol(mention, genes)) for mention, each in pairs] if genes else found


def _ranked(candidates: tuple[Candidate, ...]) -> Ranked:
    return Ranked(candidates, sum(each.score == candidates[0].score for each in candidates[1:]))
