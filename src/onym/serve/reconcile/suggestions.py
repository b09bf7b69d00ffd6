"""Suggestions while somebody types: entities and types of a knowledge base."""

from __future__ import annotations

from itertools import islice
from typing import Any

from onym.kb import KnowledgeBase
from onym.kb.search import search
from onym.serve.reconcile.semantic_types import SemanticTypes, as_type
from onym.types import Concept, styled

_MAX_DESCRIPTION = 200


def suggested_entities(kb: KnowledgeBase, prefix: str, limit: int, skip: int = 0) -> list[dict[str, Any]]:
    """Return concepts by an id, a name, its beginning, or some of its words.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> [(each["id"], each["name"]) for each in suggested_entities(kb, "pyre", 5)]
    [('MESH:D005334', 'Fever')]
    """
    by_id = [kb.concept(row) for row in kb.resolve(prefix)]
    by_name = (kb[hit.concept_id] for hit in search(kb, prefix, skip + limit))
    found = {concept.id: concept for concept in (*by_id, *by_name)}
    return [_shown(concept) for concept in islice(found.values(), skip, skip + limit)]


def suggested_types(kb: KnowledgeBase, prefix: str, limit: int, skip: int = 0) -> list[dict[str, str]]:
    """Return semantic groups and types.

    >>> suggested_types(KnowledgeBase.open(getfixture("tiny_kb")), "c14", 5)
    [{'id': 'C14', 'name': 'C14'}]
    """
    return [as_type(label) for label in SemanticTypes(kb).beginning(prefix)[skip : skip + limit]]


def _shown(concept: Concept) -> dict[str, Any]:
    kinds = concept.groups or concept.types
    shown: dict[str, Any] = {
        "id": styled(concept.id),
        "name": concept.preferred_name,
        "notable": [as_type(each) for each in kinds],
    }
    return shown | ({"description": concept.definitions[0][:_MAX_DESCRIPTION]} if concept.definitions else {})
