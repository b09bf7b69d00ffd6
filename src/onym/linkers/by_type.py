"""Linker by type: each mention is linked by the linker for its type, all of them over one knowledge base.

For texts with mentions of many kinds: genes by the linker `genes`, species and cell lines by `organisms`, diseases and
chemicals by a reranker. Each linker sees the mentions of its own types only, and may be restricted to the concepts of
semantic groups.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator
from pydantic.fields import FieldInfo

from onym.corpora.problems import require_complete
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, concepts_of_types, describe_mask
from onym.linkers.base import (
    AnyLinker,
    Confident,
    DecidesNames,
    Linker,
    LinkerConfig,
    link_among,
    link_batches,
    with_cache,
    without_confidence,
)
from onym.parts import OpenContext
from onym.registry import LINKERS
from onym.rerank.evidence import Evidence, evidence_of
from onym.text.analysis import analyse
from onym.types import Document, Link, LinkedDocument
from onym.variants.naming import add_genes, is_variant_type

_BATCH = 64  # documents
_MAX_PARTS = 20
_MAX_MASKS = 8  # masks of concepts that are kept
Names = tuple[str, ...]


class ByTypeLinkerConfig(LinkerConfig):
    """The linkers, the types of mentions that each links, and optionally the semantic groups of its answers.

    Case and spaces in types do not count. A mention of a type that no linker has is left unlinked.
    """

    kind: Literal["by_type"] = "by_type"
    parts: tuple[AnyLinker, ...] = Field(min_length=1, max_length=_MAX_PARTS)
    types: tuple[Names, ...] = Field(description="The types of mentions of each linker.")
    groups: tuple[Names, ...] = Field(default=(), description="The semantic groups of each linker's answers; empty means all.")

    @classmethod
    def options(cls) -> dict[str, FieldInfo]:
        """Return no options: the linkers are configured in a file."""
        return {}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Build a configuration from its fields; the command line has none, as an option cannot say which linker it is for."""
        if options.get("parts"):
            return cls.of({name: value for name, value in options.items() if value is not None})
        fix = "list the linkers as [[pipeline.linker.parts]] of a recipe, or in pipeline.json"
        raise ConfigError("config-invalid", "the linker by_type has no linkers", fix=fix)

    @model_validator(mode="after")
    def _match(self) -> Self:
        if len(self.types) != len(self.parts) or (self.groups and len(self.groups) != len(self.parts)):
            raise ValueError("types, and groups if given, need one list for each of the linkers in parts")
        names = [normal_type(name) for types in self.types for name in types]
        if len(names) != len(set(names)):
            raise ValueError("a type of mentions belongs to one linker only")
        return self


Config = ByTypeLinkerConfig  # the registry expects this name in every module


def open(config: ByTypeLinkerConfig, kb: KnowledgeBase, context: OpenContext) -> ByTypeLinker:
    """Open all linkers."""
    groups = config.groups or ((),) * len(config.parts)
    parts = [
        TypedPart(LINKERS.load(part.kind).open(part, kb, context), types, concepts_of_types(kb, own) if own else None)
        for part, types, own in zip(config.parts, config.types, groups, strict=True)
    ]
    return ByTypeLinker(kb, parts)


def normal_type(name: str) -> str:
    """Return a type without case and spaces.

    >>> normal_type("Cell line") == normal_type("CellLine")
    True
    """
    return "".join(name.split()).lower()


class TypedPart(NamedTuple):
    """A linker, the types of its mentions, and a mask of the concepts it may answer; None allows all."""

    linker: Linker
    types: Names
    only: ConceptMask | None = None


class ByTypeLinker(Confident, DecidesNames):
    """Links each mention by the linker for its type; `Link.stage` is that linker's.

    The ids of variants in HGVS notation get the symbol of the nearest linked gene.

    Needs: linkers for one knowledge base, and mentions with types.
    When to use: mentions of several types need different linkers.
    Related: `CascadeLinker`, `SeveralDetector`.

    >>> from onym.linkers.exact import ExactLinker
    >>> from onym.types import Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> linker = ByTypeLinker(kb, [TypedPart(ExactLinker(kb), ("Disease",))])
    >>> doc = Document("1", "Fever", (Mention(0, 5, "Fever", (), "disease"),))
    >>> [link.concept_id for linked in linker.link([doc]) for link in linked.links]
    ['mesh:D005334']
    """

    def __init__(self, kb: KnowledgeBase, parts: Sequence[TypedPart]) -> None:
        self.kb, self.parts = kb, tuple(parts)
        self._part_of = {normal_type(name): row for row, part in enumerate(parts) for name in part.types}
        self._cached = [with_cache(part.linker) for part in parts]  # kept from one call to the next
        self._lock = Lock()  # the caches are for one thread at a time
        self._masks: OrderedDict[int, _Masks] = OrderedDict()

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration of each linker, and its types."""
        parts = [
            {"types": list(part.types), **part.linker.config, **({} if part.only is None else describe_mask(part.only))}
            for part in self.parts
        ]
        return {"linker": "by_type", "parts": parts}

    def without_confidence(self) -> Self:
        """Return a copy whose links have no confidence, for pipelines that have their own calibration."""
        return type(self)(self.kb, [part._replace(linker=without_confidence(part.linker)) for part in self.parts])

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        """Yield each document with the candidates of its mentions, each from the linker for its type."""

        def links(batch: Sequence[Document]) -> list[list[Link]]:
            with self._lock:
                return self._link([analyse(doc) for doc in batch], top_k, self._masks_for(only))

        return link_batches(documents, links, batch=_BATCH)

    def _link(self, docs: Sequence[Document], top_k: int, masks: Sequence[ConceptMask | None]) -> list[list[Link]]:
        found = [[Link(mention) for mention in doc.mentions] for doc in docs]
        for part, (linker, mask) in enumerate(zip(self._cached, masks, strict=True)):
            own = [self._rows_of(doc, part) for doc in docs]
            wanted = [number for number, rows in enumerate(own) if rows]
            parts = [_only_rows(docs[number], own[number]) for number in wanted]
            done = require_complete(link_among(linker, parts, top_k=top_k, only=mask, restrict=True))
            for number, linked in zip(wanted, done, strict=True):
                for row, link in zip(own[number], linked.links, strict=True):
                    found[number][row] = replace(link, mention=docs[number].mentions[row])
        return [self._add_genes(doc, links) for doc, links in zip(docs, found, strict=True)]

    def _add_genes(self, doc: Document, links: list[Link]) -> list[Link]:
        """Return the links with the symbols of linked genes in the ids of variants."""
        if not any(is_variant_type(link.mention.type) and link.candidates for link in links):
            return links
        return list(add_genes(LinkedDocument(doc, tuple(links)), self.kb).links)

    def evidence(self, doc: Document, links: Sequence[Link]) -> list[Evidence]:
        """Return the evidence that the linker for each mention's type gives."""
        found, analysed = [Evidence()] * len(links), analyse(doc)
        for part, each in enumerate(self.parts):
            if rows := self._rows_of(doc, part):
                own = evidence_of(each.linker, _only_rows(analysed, rows), [links[row] for row in rows])
                for row, evidence in zip(rows, own, strict=True):
                    found[row] = evidence
        return found

    def _rows_of(self, doc: Document, part: int) -> list[int]:
        """Return the rows of the mentions that a linker links."""
        return [row for row, mention in enumerate(doc.mentions) if self._part_of.get(normal_type(mention.type)) == part]

    def _masks_for(self, only: ConceptMask | None) -> Sequence[ConceptMask | None]:
        """Return the mask of each linker. They are kept together with `only`, because caches go by the masks' identity."""
        if id(only) not in self._masks:
            self._masks[id(only)] = _Masks(only, tuple(_both(part.only, only) for part in self.parts))
            if len(self._masks) > _MAX_MASKS:
                self._masks.popitem(last=False)
        return self._masks[id(only)].parts


class _Masks(NamedTuple):
    """A mask, and its combination with that of each linker."""

    only: ConceptMask | None
    parts: tuple[ConceptMask | None, ...]


def _both(one: ConceptMask | None, other: ConceptMask | None) -> ConceptMask | None:
    return other if one is None else one if other is None else one & other


def _only_rows(doc: Document, rows: Sequence[int]) -> Document:
    return replace(doc, mentions=tuple(doc.mentions[row] for row in rows), relations=())
