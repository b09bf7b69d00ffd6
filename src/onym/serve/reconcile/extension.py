"""Data extension: ids in, values of their properties out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onym.kb import KnowledgeBase
from onym.serve.reconcile.properties import PROPERTIES
from onym.types import Concept


def extended(kb: KnowledgeBase, ids: Sequence[str], properties: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values of properties for each id; an unknown id, or an unknown property, has none.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> extended(kb, ["MESH:D005334"], [{"id": "synonyms"}])["rows"]["MESH:D005334"]["synonyms"]
    [{'str': 'Pyrexia'}, {'str': 'Hyperthermia'}]
    """
    wanted = {each["id"]: _limit(each.get("settings") or {}) for each in properties}
    names = [{"id": key, "name": PROPERTIES[key].name if key in PROPERTIES else key} for key in wanted]
    return {"meta": names, "rows": {each: _row(_concept(kb, each), wanted) for each in ids}}


def _row(concept: Concept | None, wanted: Mapping[str, int | None]) -> dict[str, list[dict[str, str]]]:
    return {
        key: [{"str": value} for value in PROPERTIES[key].values(concept)[:limit]] if concept and key in PROPERTIES else []
        for key, limit in wanted.items()
    }


def _concept(kb: KnowledgeBase, concept_id: str) -> Concept | None:
    found = kb.resolve(concept_id)
    return kb.concept(found[0]) if len(found) == 1 else None


def _limit(settings: Mapping[str, Any]) -> int | None:
    """Return how many values are wanted; 0, or what is no number, stands for all."""
    try:
        return max(0, int(settings.get("limit") or 0)) or None
    except (TypeError, ValueError, OverflowError):
        return None
