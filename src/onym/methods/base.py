"""The interface of linkers: a linker ranks the concepts of one knowledge base for queries, and says what is special about it.

A linker is one module, with a `Config`, an `open` function and the linker class; `onym.registry` has its short name.
What all linkers share is in `onym.pipeline`: text in, filters, confidence, links out. Because composites (`cascade`,
`by_type`) need them too, answers kept by text and names that decide are here, in `open_ranking`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field, SerializeAsAny

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked, put_first
from onym.methods.evidence import Evidence, evidence_of_name
from onym.parts import ModelReference, PartConfig, Precision, of_kind
from onym.recent import Recent
from onym.registry import LINKERS
from onym.text.queries import Query
from onym.types import Link

DEVICE = r"^(auto|cpu|mps|cuda(:[0-9]+)?)$"
KEPT_CANDIDATES = 500_000
"""Number of candidates that a ranking keeps for texts that come again: 50,000 texts with ten candidates, about 60 MB."""
Rank = Callable[[Sequence[Query]], list[Ranked]]
"""Ranks concepts for queries. Queries of one document are next to each other, and are not spread over several calls; a call
may have only some mentions of a document."""
Propose = Callable[[Sequence[Query]], list[dict[int, float]]]
"""Returns for each query the scores of concepts by row, best first."""


class LinkerConfig(PartConfig):
    """The configuration of a linker."""


AnyLinker = Annotated[SerializeAsAny[LinkerConfig], of_kind(LINKERS)]
"""A field for the configuration of any linker, of the class that its `kind` names."""


class ModelLinkerConfig(LinkerConfig):
    """The configuration of a linker that uses a model."""

    model: ModelReference | None = Field(default=None, description="Folder of the model, or its name on the Hugging Face hub.")
    dtype: Precision = Field(default="auto", description="fp32 or bf16; auto means the faster of both on this machine.")
    device: str = Field(default="auto", pattern=DEVICE, description="Device: auto, cpu, cuda, cuda:N or mps.")


class Linker(ABC):
    """Ranks concepts of one knowledge base for queries.

    A linker has no state that changes: threads share it, and each opens rankings of its own. A subclass needs `kb`, `config`
    and `ranking`; everything else has a default.

    `reads_context` is set if answers depend on more than the text of a query. Otherwise each text is ranked once.
    `decides_names` is set if the linker itself puts the concept first that a mention's name decides (see `onym.kb.order`).
    `keeps_answers` is set if answers may be kept from one call to the next: scores must not depend on the other queries of a
    call, not even in the last digit.
    """

    kb: KnowledgeBase
    reads_context: ClassVar[bool] = False
    decides_names: ClassVar[bool] = False
    keeps_answers: bool = False

    @property
    @abstractmethod
    def config(self) -> dict[str, Any]:
        """The linker's name, and all settings that its results depend on except the knowledge base."""

    @abstractmethod
    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        """Return a function that ranks up to `top_k` concepts for each query, best first.

        If `allowed` is given, all other concepts are treated as absent. The function is used by one thread at a time; it may
        keep what it prepared for `allowed`, and answers.
        """

    def proposing(self, top_k: int, allowed: ConceptMask | None = None) -> Propose:
        """Return a function like that of `ranking`, for linkers that combine others: concepts by row with their scores."""
        rank, row_of = self.ranking(top_k, allowed), self.kb.concept_ids.find

        def propose(queries: Sequence[Query]) -> list[dict[int, float]]:
            ranked = rank(queries) if queries else ()
            return [{row_of(candidate.concept_id): candidate.score for candidate in each.candidates} for each in ranked]

        return propose

    def rank(self, queries: Sequence[Query], top_k: int = 10, allowed: ConceptMask | None = None) -> list[Ranked]:
        """Return up to `top_k` candidates for each query, best first."""
        return open_ranking(self, top_k, allowed)(queries)

    def evidence(self, queries: Sequence[Query], links: Sequence[Link]) -> list[Evidence]:
        """Return the evidence for the first candidate of each link; by default, the matched name."""
        return [evidence_of_name(query.text, link) for query, link in zip(queries, links, strict=True)]


def open_ranking(linker: Linker, top_k: int, allowed: ConceptMask | None = None, *, names: bool = False) -> Rank:
    """Return a ranking of a linker that computes each text once, unless the linker reads context.

    With `names`, the concept that a mention's name decides comes first, whatever the linker says (see `onym.kb.order`).
    """
    rank = linker.ranking(top_k, allowed)
    if not linker.reads_context:
        rank = _once_per_text(rank, KEPT_CANDIDATES // max(top_k, 1))
    return _names_first(rank, linker.kb, allowed) if names and not linker.decides_names else rank


def _once_per_text(rank: Rank, size: int) -> Rank:
    recent: Recent[str, Ranked] = Recent(size)

    def rank_texts(queries: Sequence[Query]) -> list[Ranked]:
        first = {query.text: query for query in reversed(queries)}
        return recent.fill([query.text for query in queries], lambda texts: rank([first[text] for text in texts]))

    return rank_texts


def _names_first(rank: Rank, kb: KnowledgeBase, allowed: ConceptMask | None) -> Rank:
    def decide(query: Query, ranked: Ranked) -> Ranked:
        name = kb.names.find(query.text)
        concept = kb.order.meaning(name, allowed)
        return ranked if concept < 0 else put_first(kb, ranked, concept, name)

    return lambda queries: [decide(query, ranked) for query, ranked in zip(queries, rank(queries), strict=True)]
