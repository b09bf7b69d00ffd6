"""Finding concepts by their names: the name itself, then names that begin so, then names that hold all its words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from onym.text.normal import normal_name

if TYPE_CHECKING:
    from onym.kb.knowledge_base import KnowledgeBase

Match = Literal["exact", "prefix", "words"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A concept found, with the name that was found and how."""

    concept_id: str
    preferred_name: str
    name: str
    match: Match


def search(kb: KnowledgeBase, text: str, limit: int = 10) -> list[Hit]:
    """Return the best hits, each concept once.

    >>> from onym.kb import KnowledgeBase
    >>> [hit.concept_id for hit in search(KnowledgeBase.open(getfixture("tiny_kb")), "blood pressure")]
    ['mesh:D006973']
    """
    hits: dict[int, Hit] = {}
    for row, match in _names(kb, normal_name(text), limit):
        for concept in kb.name_concepts[row]:
            hit = Hit(kb.concept_ids[int(concept)], kb.preferred_form(int(concept)), kb.names[row], match)
            hits.setdefault(int(concept), hit)
        if len(hits) >= limit:
            break
    return list(islice(hits.values(), limit))


def _names(kb: KnowledgeBase, text: str, limit: int) -> Iterator[tuple[int, Match]]:
    if not text:
        return
    exact = kb.names.find(text)
    if exact >= 0:
        yield exact, "exact"
    first = kb.names.lower_bound(text.encode())
    beginning = range(first, min(first + 10 * limit, kb.names.lower_bound(text.encode() + b"\xff")))
    yield from ((row, "prefix") for row in sorted(beginning, key=lambda i: len(kb.names[i])))
    yield from ((row, "words") for row in _holding_all(kb, text.split()))


def _holding_all(kb: KnowledgeBase, words: list[str]) -> list[int]:
    """Return the names that hold every word, the shortest first; the longest word is looked for in all names."""
    import numpy as np
    import pyarrow.compute as pc

    rarest = max(words, key=len)
    found = np.flatnonzero(pc.match_substring(kb.names.to_arrow(), rarest).to_numpy(zero_copy_only=False))
    holding = [int(i) for i in found if all(word in kb.names[int(i)] for word in words)]
    return sorted(holding, key=lambda i: (len(kb.names[i]), i))
