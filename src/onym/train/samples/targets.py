"""Which names of its concept are the targets of a mention: the most similar ones, the shortest, or all of them in turn.

GenBioEL section 2.3 takes the name most similar by character 3-gram TF-IDF, ANGEL section 3.2 the three most similar.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from onym.errors import InputError
from onym.kb import KnowledgeBase
from onym.kb.search import open_similarity
from onym.text.normal import normal_name
from onym.types import Document, Mention

Choice = Literal["similar", "short", "sampled"]
"""The most similar names, the shortest, or any: GenBioEL's Table 4."""
DocMention = tuple[Document, Mention]
"""A mention with its document."""
_ANY = 50  # names of a concept among which one is drawn, the first in the order of preference


def targets_of(
    mentions: Sequence[DocMention], kb: KnowledgeBase, *, choice: Choice = "similar", count: int = 1
) -> list[tuple[int, ...]]:
    """Return for each mention the ids of its target names, best first; none where its concept is not in the knowledge base.

    >>> from onym.types import Document, Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> doc = Document("1", "He had heart attacks", (Mention(7, 20, "heart attacks", ("mesh:D009203",)),))
    >>> [[kb.names[name] for name in names] for names in targets_of([(doc, doc.mentions[0])], kb)]
    [['heart attack']]
    """
    names = [names_of(concepts_of(mention, kb), kb) for _, mention in mentions]
    if choice == "sampled":
        return [found[:_ANY] for found in names]
    if choice == "short":
        return [tuple(sorted(found, key=lambda name: (len(kb.names[name]), kb.names[name]))[:count]) for found in names]
    surfaces = [normal_name(mention.surface) for _, mention in mentions]
    return _closest_names(surfaces, names, kb, count)


def concepts_of(mention: Mention, kb: KnowledgeBase) -> tuple[int, ...]:
    """Return the gold concepts of a mention, as rows of the knowledge base, each once.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> [kb.concept_ids[concept] for concept in concepts_of(Mention(0, 2, "MI", ("mesh:D0", "omim:608446")), kb)]
    ['mesh:D009203']
    """
    return tuple(dict.fromkeys(concept for concept_id in mention.concept_ids for concept in kb.concepts_with_id(concept_id)))


def names_of(concepts: Sequence[int], kb: KnowledgeBase) -> tuple[int, ...]:
    """Return the ids of all names of these concepts, each once.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> [kb.names[name] for name in names_of(kb.resolve("mesh:D005334"), kb)]
    ['fever', 'pyrexia', 'hyperthermia']
    """
    return tuple(dict.fromkeys(name for concept in concepts for name in kb.names_of(concept).tolist()))


def gold_concepts(mention: Mention, kb: KnowledgeBase) -> frozenset[int]:
    """Return the gold concepts of a mention as a set."""
    return frozenset(concepts_of(mention, kb))


def is_name_of(gold: frozenset[int], names: Sequence[int], kb: KnowledgeBase) -> bool:
    """Return whether one of the names belongs to one of these concepts."""
    return any(not gold.isdisjoint(kb.name_concepts[name].tolist()) for name in names)


def require_linkable(mentions: int) -> None:
    """Refuse a dataset of which none of the mentions has a concept of the knowledge base."""
    if not mentions:
        fix = "name the knowledge base that the dataset is annotated with"
        raise InputError("training-empty", "no mention has a concept of the knowledge base", fix=fix)


def _closest_names(
    surfaces: Sequence[str], names: Sequence[tuple[int, ...]], kb: KnowledgeBase, count: int
) -> list[tuple[int, ...]]:
    if not names:
        return []
    similarity = open_similarity(kb)
    left = [surface for surface, found in zip(surfaces, names, strict=True) for _ in found]
    right = [kb.names[name] for found in names for name in found]
    scores = np.split(similarity.pairwise(left, right), np.cumsum([len(found) for found in names])[:-1])
    return [
        tuple(name for _, _, name in sorted(zip(-score, range(len(found)), found, strict=True))[:count])
        for score, found in zip(scores, names, strict=True)
    ]
