"""Properties of concepts for data extension, and HTML preview cards.

There is no property for parents, because a knowledge base does not store them. A card has no script, all values are escaped,
and pages of other origins may show it in a frame. Linker processes read the property values; the HTTP process renders the card.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from onym.types import Concept, style_id

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase

_STYLE = (
    "body{font:14px/1.4 system-ui,sans-serif;margin:10px;color:#111;background:#fff}"
    "h1{font-size:16px;margin:0 0 4px}p{margin:4px 0}dt{font-weight:600;margin-top:6px}dd{margin:0}"
    "code{color:#555}"
)
_DIGEST = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
HEADERS = {
    "content-security-policy": (
        f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'; frame-ancestors *; "
        "sandbox allow-popups allow-popups-to-escape-sandbox"
    ),
    "referrer-policy": "no-referrer",
}
"""Headers of a card: no scripts, nothing loaded, and no Referer header, because the token may be in the URL."""
_SHOWN = {"synonyms": 12, "xrefs": 12, "types": 12}
_LINKED = re.compile(r"[A-Za-z][A-Za-z0-9.]*:[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Property:
    """A property of concepts, with the function that reads its values."""

    id: str
    name: str
    description: str
    values: Callable[[Concept], list[str]]

    def to_dict(self) -> dict[str, str]:
        """Return the property as in suggestions."""
        return {"id": self.id, "name": self.name, "description": self.description}


def _synonyms(concept: Concept) -> list[str]:
    return [form for form in dict.fromkeys(term.form for term in concept.terms) if form != concept.preferred_name]


PROPERTIES: dict[str, Property] = {
    each.id: each
    for each in (
        Property("name", "name", "The preferred name.", lambda concept: [concept.preferred_name]),
        Property("synonyms", "synonyms", "All other names.", _synonyms),
        Property("definition", "definition", "Definitions from the sources.", lambda concept: list(concept.definitions)),
        Property(
            "xrefs", "cross-references", "Ids in other vocabularies.", lambda concept: [style_id(x) for x in concept.xrefs]
        ),
        Property(
            "groups", "semantic groups", "Semantic groups, such as Disease or Chemical.", lambda concept: list(concept.groups)
        ),
        Property("types", "semantic types", "Semantic types of the sources.", lambda concept: list(concept.types)),
        Property(
            "alternative_ids",
            "alternative ids",
            "Other and retired ids.",
            lambda concept: [style_id(x) for x in concept.alternative_ids],
        ),
    )
}


def properties_like(prefix: str) -> list[dict[str, str]]:
    """Return the properties whose name or id contains the `prefix`.

    >>> [each["id"] for each in properties_like("syn")]
    ['synonyms']
    """
    wanted = prefix.strip().lower()
    return [each.to_dict() for each in PROPERTIES.values() if wanted in each.name or wanted in each.id]


def propose_properties(kind: str, limit: int | None) -> dict[str, object]:
    """Return the properties for concepts of a type; they are the same for all types.

    >>> [each["id"] for each in propose_properties("Disease", 2)["properties"]]
    ['name', 'synonyms']
    """
    found = [{"id": each.id, "name": each.name} for each in PROPERTIES.values()][:limit]
    return {"properties": found} | ({"type": kind} if kind else {}) | ({} if limit is None else {"limit": limit})


def extend_concepts(kb: KnowledgeBase, ids: Sequence[str], properties: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return property values for each id; unknown ids and unknown properties have empty lists.

    >>> from onym.kb import KnowledgeBase
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> extend_concepts(kb, ["MESH:D005334"], [{"id": "synonyms"}])["rows"]["MESH:D005334"]["synonyms"]
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
    """Return the maximum number of values; None (all) if the limit is 0 or not a number."""
    try:
        return max(0, int(settings.get("limit") or 0)) or None
    except (TypeError, ValueError, OverflowError):
        return None


def card(concept_id: str, values: Mapping[str, Sequence[str]]) -> str:
    """Return the HTML card of a concept; `values` are its property values by property id.

    >>> "<h1>Fever</h1>" in card("MESH:D005334", {"name": ["Fever"]})
    True
    """
    name = next(iter(values.get("name") or ()), concept_id)
    kinds = ", ".join(values.get("groups") or values.get("types") or ())
    parts = [f"<h1>{escape(name)}</h1>", f"<p>{_id(concept_id)}{' &middot; ' * bool(kinds)}{escape(kinds)}</p>"]
    parts += [f"<p>{escape(each)}</p>" for each in (values.get("definition") or ())[:1]]
    rows = [
        ("Synonyms", "; ".join(map(escape, _few(values, "synonyms")))),
        ("Cross-references", ", ".join(map(_id, _few(values, "xrefs")))),
    ]
    parts.append("".join(f"<dt>{title}</dt><dd>{shown}</dd>" for title, shown in rows if shown))
    body = "".join(parts[:-1]) + (f"<dl>{parts[-1]}</dl>" if parts[-1] else "")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(name)}</title>'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>"
    )


def _few(values: Mapping[str, Sequence[str]], key: str) -> list[str]:
    all_values = list(values.get(key) or ())
    return [*all_values[: _SHOWN[key]], *(["..."] if len(all_values) > _SHOWN[key] else [])]


def _id(concept_id: str) -> str:
    """Return an id as HTML; a valid CURIE links to bioregistry.io."""
    shown = f"<code>{escape(concept_id)}</code>"
    if not _LINKED.fullmatch(concept_id):
        return shown
    return f'<a href="https://bioregistry.io/{concept_id}" target="_blank" rel="noopener noreferrer">{shown}</a>'
