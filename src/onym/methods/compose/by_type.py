"""Linker by type: each mention is linked by the linker for its type, all of them over one knowledge base.

For texts with mentions of many kinds: genes by the linker `genes`, species and cell lines by `organisms`, diseases and
chemicals by a reranker. Each linker sees the mentions of its own types only, and may be restricted to the concepts of
semantic groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator
from pydantic.fields import FieldInfo

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked, concepts_of_types, describe_mask, intersect
from onym.methods.base import AnyLinker, Linker, LinkerConfig, Rank, open_ranking
from onym.methods.evidence import Evidence
from onym.methods.variants.naming import add_genes, is_variant_type
from onym.parts import OpenContext
from onym.registry import LINKERS
from onym.text.queries import Query, by_document
from onym.types import Link

_MAX_PARTS = 20
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


class ByTypeLinker(Linker):
    """Links each mention by the linker for its type; `Link.stage` is that linker's.

    The ids of variants in HGVS notation get the symbol of the nearest linked gene.

    Needs: linkers for one knowledge base, and mentions with types.
    When to use: mentions of several types need different linkers.
    Related: `CascadeLinker`, `SeveralDetector`.

    >>> from onym.methods.exact import ExactLinker
    >>> from onym.text.queries import queries_of
    >>> from onym.types import Document, Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> linker = ByTypeLinker(kb, [TypedPart(ExactLinker(kb), ("Disease",))])
    >>> doc = Document("1", "Fever", (Mention(0, 5, "Fever", (), "disease"),))
    >>> [ranked.candidates[0].concept_id for ranked in linker.rank(queries_of(doc))]
    ['mesh:D005334']
    """

    reads_context = decides_names = True

    def __init__(self, kb: KnowledgeBase, parts: Sequence[TypedPart]) -> None:
        self.kb, self.parts = kb, tuple(parts)
        self.keeps_answers = all(part.linker.keeps_answers for part in parts)
        self._part_of = {normal_type(name): row for row, part in enumerate(parts) for name in part.types}

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration of each linker, and its types."""
        parts = [
            {"types": list(part.types), **part.linker.config, **({} if part.only is None else describe_mask(part.only))}
            for part in self.parts
        ]
        return {"linker": "by_type", "parts": parts}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        """Return a function that ranks each query by the linker for the type of its mention."""
        ranks = [open_ranking(part.linker, top_k, intersect(part.only, allowed), names=True) for part in self.parts]

        def rank(queries: Sequence[Query]) -> list[Ranked]:
            answers = [Ranked()] * len(queries)
            for part, rows in self._rows_by_part(queries).items():
                for row, ranked in zip(rows, ranks[part]([queries[row] for row in rows]), strict=True):
                    answers[row] = ranked
            return self._name_genes(queries, answers)

        return rank

    def _name_genes(self, queries: Sequence[Query], answers: list[Ranked]) -> list[Ranked]:
        """Return the answers with the symbols of linked genes in the ids of variants."""
        pairs = zip(queries, answers, strict=True)
        if not any(ranked.candidates and is_variant_type(query.mention.type) for query, ranked in pairs):
            return answers
        rest = iter(answers)
        return [
            ranked for group in by_document(queries) for ranked in add_genes(group, list(islice(rest, len(group))), self.kb)
        ]

    def evidence(self, queries: Sequence[Query], links: Sequence[Link]) -> list[Evidence]:
        """Return the evidence that the linker for each mention's type gives."""
        found = [Evidence()] * len(links)
        for part, rows in self._rows_by_part(queries).items():
            linker = self.parts[part].linker
            evidences = linker.evidence([queries[row] for row in rows], [links[row] for row in rows])
            for row, evidence in zip(rows, evidences, strict=True):
                found[row] = evidence
        return found

    def _rows_by_part(self, queries: Sequence[Query]) -> dict[int, list[int]]:
        """Return the rows of the queries that each linker answers."""
        rows: dict[int, list[int]] = {}
        for row, query in enumerate(queries):
            part = self._part_of.get(normal_type(query.mention.type))
            if part is not None:
                rows.setdefault(part, []).append(row)
        return rows
