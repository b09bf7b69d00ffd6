"""From scored names to ranked concepts: one way for every linker, in the order of `onym.kb.order`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from onym.kb.knowledge_base import KnowledgeBase
from onym.kb.masks import ConceptMask
from onym.types import Candidate, Link, Mention

Best = Mapping[int, tuple[float, int]]
"""Concepts, each with its best score and the name that has it."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates for a mention, best first. `tied` says how many other concepts have the best score, also those cut off."""

    candidates: tuple[Candidate, ...] = ()
    tied: int = 0

    def link(self, mention: Mention) -> Link:
        """Return the link of a mention that they are for."""
        return Link(mention, self.candidates, tied=self.tied)


def rank_concepts(kb: KnowledgeBase, names: Iterable[tuple[int, float]], top_k: int, only: ConceptMask | None = None) -> Ranked:
    """Return the concepts of scored names, best first: each once, by its best name. Ties are decided.

    `names` are ids of names with their scores, best first.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> ranked = rank_concepts(kb, [(kb.find("mi"), 1.0)], 1)
    >>> [candidate.concept_id for candidate in ranked.candidates], ranked.tied
    (['mesh:D006973'], 1)
    """
    return rank_scored(kb, best_of(kb, names, only), top_k)


def best_of(kb: KnowledgeBase, names: Iterable[tuple[int, float]], only: ConceptMask | None = None) -> Best:
    """Return the concepts of scored names, best first, each with its best score and name."""
    best: dict[int, tuple[float, int]] = {}
    for name, score in names:
        for concept in kb.name_concepts[name].tolist():
            if only is None or only[concept]:
                best.setdefault(concept, (score, name))
    return best


def rank_scored(kb: KnowledgeBase, best: Best, top_k: int) -> Ranked:
    """Return scored concepts as candidates, best first."""
    if not best or not top_k:
        return Ranked()
    ranked = list(islice(kb.order.ranked(best), top_k))
    candidates = tuple(
        Candidate(kb.concept_ids[concept], kb.names[name], score, *kb.label_of(concept)) for concept, score, name in ranked
    )
    return Ranked(candidates, sum(score == candidates[0].score for score, _ in best.values()) - 1)
