"""From scored names to ranked concepts: one order for every linker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onym.kb.knowledge_base import KnowledgeBase
from onym.kb.masks import ConceptMask
from onym.types import Candidate


def rank_concepts(
    kb: KnowledgeBase, names: Iterable[tuple[int, float]], top_k: int, only: ConceptMask | None = None
) -> tuple[Candidate, ...]:
    """Return the concepts of scored names, best first: each once, by its best name; equal scores in the order of ids.

    `names` are ids of names with their scores, best first.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> [candidate.concept_id for candidate in rank_concepts(kb, [(kb.find("mi"), 1.0)], 10)]
    ['mesh:D006973', 'mesh:D009203']
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
