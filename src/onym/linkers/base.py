"""What every linker offers, and what a caller may ask of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.types import Candidate, Document, Link

ConceptMask = npt.NDArray[np.bool_]
"""For each concept of a knowledge base, whether it may be an answer."""


@dataclass(frozen=True, slots=True)
class Linked:
    """A document and a link for each of its mentions, in their order."""

    document: Document
    links: tuple[Link, ...]


class Linker(Protocol):
    """Proposes concepts of one knowledge base for mentions that are given."""

    kb: KnowledgeBase

    @property
    def config(self) -> dict[str, Any]:
        """What was really used: the linker's name, and everything that its answers depend on besides the knowledge base."""

    def link(self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None) -> Iterator[Linked]:
        """Yield each document with up to `top_k` candidates a mention, best first, all of them among `only`."""


def concepts_of_types(kb: KnowledgeBase, types: Sequence[str]) -> ConceptMask:
    """Return the concepts that have one of the semantic types.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> int(concepts_of_types(kb, [kb.types[0]]).sum()) > 0
    True
    """
    wanted = {name: kb.types.find(name) for name in types}
    if missing := [name for name, place in wanted.items() if place < 0]:
        fix = "onym kb show CONCEPT lists a concept's types"
        raise ConfigError("filter-unknown", f"no concept has the semantic type {missing[0]!r}", fix=fix)
    mask = np.zeros(len(kb), dtype=bool)
    mask[kb.concept_types.owners()[np.isin(kb.concept_types.values, list(wanted.values()))]] = True
    return mask


def concepts_with_ids(kb: KnowledgeBase, concept_ids: Iterable[str]) -> ConceptMask:
    """Return the concepts that ids lead to; an unknown id is an error.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> int(concepts_with_ids(kb, ["D009203"]).sum())
    1
    """
    mask = np.zeros(len(kb), dtype=bool)
    for concept_id in concept_ids:
        found = kb.resolve(concept_id)
        if not found:
            fix = "look for its name with onym kb search"
            raise ConfigError("filter-unknown", f"no concept has the id {concept_id!r}", fix=fix)
        mask[list(found)] = True
    return mask


def names_of(kb: KnowledgeBase, only: ConceptMask) -> npt.NDArray[np.bool_]:
    """Return for each name whether it belongs to one of the concepts.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> is_named = names_of(kb, concepts_with_ids(kb, ["D005334"]))
    >>> [kb.names[i] for i in np.flatnonzero(is_named)]
    ['fever', 'hyperthermia', 'pyrexia']
    """
    mask = np.zeros(len(kb.names), dtype=bool)
    mask[kb.name_concepts.owners()[only[kb.name_concepts.values]]] = True
    return mask


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
