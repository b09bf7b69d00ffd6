"""What every linker offers, and what a caller may ask of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from onym.kb import KnowledgeBase
from onym.kb.masks import ConceptMask, concepts_of_types, concepts_with_ids, names_of
from onym.types import Candidate, Document, Link

__all__ = ["ConceptMask", "Linked", "Linker", "are_tied", "concepts_of_types", "concepts_with_ids", "names_of", "ranked"]


@dataclass(frozen=True, slots=True)
class Linked:
    """A document and a link for each of its mentions, in their order.

    `stages` names for each mention the part of a cascade that answered it; linkers that are no cascade leave it empty.
    """

    document: Document
    links: tuple[Link, ...]
    stages: tuple[str, ...] = ()


class Linker(Protocol):
    """Proposes concepts of one knowledge base for mentions that are given."""

    kb: KnowledgeBase

    @property
    def config(self) -> dict[str, Any]:
        """What was really used: the linker's name, and everything that its answers depend on besides the knowledge base."""

    def link(self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None) -> Iterator[Linked]:
        """Yield each document with up to `top_k` candidates a mention, best first, all of them among `only`."""


def ranked(
    kb: KnowledgeBase, names: Iterable[tuple[int, float]], top_k: int, only: ConceptMask | None = None
) -> tuple[Candidate, ...]:
    """Return the concepts of scored names, best first: each once, by its best name; equal ones in the order of their ids.

    `names` are places in the knowledge base with their scores, best first.
    """
    best: dict[int, tuple[float, int]] = {}
    for name, score in names:
        for concept in kb.name_concepts[name]:
            if only is None or only[concept]:
                best.setdefault(int(concept), (score, name))
    order = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))[:top_k]
    return tuple(Candidate(kb.concept_ids[concept], kb.names[name], score) for concept, (score, name) in order)


def are_tied(candidates: Sequence[Candidate]) -> bool:
    """Tell whether a second candidate has the best score: there is no one answer.

    >>> are_tied([Candidate("a:1", "mi", 1.0), Candidate("a:2", "mi", 1.0)])
    True
    """
    return len(candidates) > 1 and candidates[0].score == candidates[1].score
