"""The properties of concepts that a table can be extended with. A knowledge base has no parents, so none are offered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onym.types import Concept, styled


@dataclass(frozen=True)
class Property:
    """A property, and how its values are read from a concept."""

    id: str
    name: str
    description: str
    values: Callable[[Concept], list[str]]

    def described(self) -> dict[str, str]:
        """Return it as suggestions show it."""
        return {"id": self.id, "name": self.name, "description": self.description}


def _synonyms(concept: Concept) -> list[str]:
    return [form for form in dict.fromkeys(term.form for term in concept.terms) if form != concept.preferred_name]


PROPERTIES: dict[str, Property] = {
    each.id: each
    for each in (
        Property("name", "name", "The preferred name.", lambda concept: [concept.preferred_name]),
        Property("synonyms", "synonyms", "All other names, as the sources write them.", _synonyms),
        Property("definition", "definition", "What the sources say that it is.", lambda concept: list(concept.definitions)),
        Property("xrefs", "cross-references", "Ids in other vocabularies.", lambda concept: [styled(x) for x in concept.xrefs]),
        Property("groups", "semantic groups", "Such as Disease or Chemical.", lambda concept: list(concept.groups)),
        Property("types", "semantic types", "As the sources have them.", lambda concept: list(concept.types)),
        Property(
            "alternative_ids",
            "alternative ids",
            "Other and retired ids.",
            lambda concept: [styled(x) for x in concept.alternative_ids],
        ),
    )
}


def properties_like(prefix: str) -> list[dict[str, str]]:
    """Return the properties whose name or id holds a text.

    >>> [each["id"] for each in properties_like("syn")]
    ['synonyms']
    """
    wanted = prefix.strip().lower()
    return [each.described() for each in PROPERTIES.values() if wanted in each.name or wanted in each.id]


def proposed(kind: str, limit: int | None) -> dict[str, object]:
    """Return the properties that concepts of a type have: all, since the knowledge base decides.

    >>> [each["id"] for each in proposed("Disease", 2)["properties"]]
    ['name', 'synonyms']
    """
    found = [{"id": each.id, "name": each.name} for each in PROPERTIES.values()][:limit]
    return {"properties": found} | ({"type": kind} if kind else {}) | ({} if limit is None else {"limit": limit})
