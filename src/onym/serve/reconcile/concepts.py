"""Properties of concepts for data extension, and HTML preview cards.

Parents and mapped headings are entities: values with an id and a name. They are offered if the knowledge base has a hierarchy.
A card has no script, all values are escaped, and pages of other origins may show it in a frame. Linker processes read the
property values; the HTTP process renders the card.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from onym.types import Concept, ParentKind, select_relatives, style_id

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
_SHOWN = 12  # maximum number of values in a row of a card
_LINKED = re.compile(r"[A-Za-z][A-Za-z0-9.]*:[A-Za-z0-9._-]+")


Value = dict[str, str]
"""A value of a property in data extension: a string, `{"str": ...}`, or an entity, `{"id": ..., "name": ...}`."""


@dataclass(frozen=True)
class Property:
    """A property of concepts, with the function that reads its values.

    `kinds` are the relations that it reads; it is offered if the knowledge base has one of them.
    """

    id: str
    name: str
    description: str
    values: Callable[[Concept], list[Value]]
    kinds: frozenset[ParentKind] = frozenset()

    def is_offered(self, kb: KnowledgeBase) -> bool:
        """Return True if the knowledge base can have values of this property."""
        return not self.kinds or bool(self.kinds & kb.hierarchy.kinds)

    def to_dict(self) -> dict[str, str]:
        """Return the property as in suggestions."""
        return {"id": self.id, "name": self.name, "description": self.description}


def _texts(values: Iterable[str]) -> list[Value]:
    return [{"str": value} for value in values]


def _ids(concept_ids: Iterable[str]) -> list[Value]:
    return _texts(style_id(each) for each in concept_ids)


def _synonyms(concept: Concept) -> list[Value]:
    return _texts(form for form in dict.fromkeys(term.form for term in concept.terms) if form != concept.preferred_name)


def _parents(concept: Concept, *, mapped: bool = False) -> list[Value]:
    return [{"id": style_id(key), "name": name} for key, name in select_relatives(concept.parents, mapped=mapped).items()]


_ABOVE, _MAPPED = frozenset({ParentKind.IS_A, ParentKind.BROADER}), frozenset({ParentKind.MAPPED_TO})
PROPERTIES: dict[str, Property] = {
    each.id: each
    for each in (
        Property("name", "name", "The preferred name.", lambda concept: _texts([concept.preferred_name])),
        Property("synonyms", "synonyms", "All other names.", _synonyms),
        Property("definition", "definition", "Definitions from the sources.", lambda concept: _texts(concept.definitions)),
        Property("parents", "parents", "The concepts directly above.", _parents, _ABOVE),
        Property(
            "mapped_to",
            "mapped to",
            "Headings that a supplementary record of MeSH is mapped to.",
            partial(_parents, mapped=True),
            _MAPPED,
        ),
        Property("xrefs", "cross-references", "Ids in other vocabularies.", lambda concept: _ids(concept.xrefs)),
        Property(
            "groups", "semantic groups", "Semantic groups, such as Disease or Chemical.", lambda concept: _texts(concept.groups)
        ),
        Property("types", "semantic types", "Semantic types of the sources.", lambda concept: _texts(concept.types)),
        Property("alternative_ids", "alternative ids", "Other and retired ids.", lambda concept: _ids(concept.alternative_ids)),
    )
}


def suggest_properties(kb: KnowledgeBase, prefix: str, limit: int, skip: int = 0) -> list[dict[str, str]]:
    """Find properties by a part of the name or id.

    >>> from onym.kb import KnowledgeBase
    >>> [each["id"] for each in suggest_properties(KnowledgeBase.open(getfixture("tiny_kb")), "syn", 5)]
    ['synonyms']
    """
    wanted = prefix.strip().lower()
    found = [each.to_dict() for each in _list_offered(kb) if wanted in each.name or wanted in each.id]
    return found[skip : skip + limit]


def propose_properties(kb: KnowledgeBase, kind: str, limit: int | None) -> dict[str, object]:
    """Return the properties for concepts of a type; they are the same for all types.

    >>> from onym.kb import KnowledgeBase
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> [each["id"] for each in propose_properties(kb, "Disease", 2)["properties"]]
    ['name', 'synonyms']
    """
    found = [{"id": each.id, "name": each.name} for each in _list_offered(kb)][:limit]
    return {"properties": found} | ({"type": kind} if kind else {}) | ({} if limit is None else {"limit": limit})


def _list_offered(kb: KnowledgeBase) -> list[Property]:
    return [each for each in PROPERTIES.values() if each.is_offered(kb)]


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


def _row(concept: Concept | None, wanted: Mapping[str, int | None]) -> dict[str, list[Value]]:
    return {
        key: PROPERTIES[key].values(concept)[:limit] if concept and key in PROPERTIES else [] for key, limit in wanted.items()
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


def card(concept_id: str, values: Mapping[str, Sequence[Value]]) -> str:
    """Return the HTML card of a concept; `values` are its property values by property id, as in data extension.

    >>> "<h1>Fever</h1>" in card("MESH:D005334", {"name": [{"str": "Fever"}]})
    True
    """
    texts = {key: [each["str"] for each in found if "str" in each] for key, found in values.items()}
    name = next(iter(texts.get("name") or ()), concept_id)
    kinds = ", ".join(texts.get("groups") or texts.get("types") or ())
    parts = [f"<h1>{escape(name)}</h1>", f"<p>{_id(concept_id)}{' &middot; ' * bool(kinds)}{escape(kinds)}</p>"]
    parts += [f"<p>{escape(each)}</p>" for each in (texts.get("definition") or ())[:1]]
    rows = [
        ("Parents", "; ".join(_few([_entity(each) for each in values.get("parents") or ()]))),
        ("Mapped to", "; ".join(_few([_entity(each) for each in values.get("mapped_to") or ()]))),
        ("Synonyms", "; ".join(_few([escape(each) for each in texts.get("synonyms") or ()]))),
        ("Cross-references", ", ".join(_few([_id(each) for each in texts.get("xrefs") or ()]))),
    ]
    parts.append("".join(f"<dt>{title}</dt><dd>{shown}</dd>" for title, shown in rows if shown))
    body = "".join(parts[:-1]) + (f"<dl>{parts[-1]}</dl>" if parts[-1] else "")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(name)}</title>'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>"
    )


def _few(values: Sequence[str]) -> list[str]:
    return [*values[:_SHOWN], *(["..."] if len(values) > _SHOWN else [])]


def _entity(value: Value) -> str:
    """Return an entity as HTML: its name, and its id with a link."""
    return f"{escape(value['name'])} {_id(value['id'])}"


def _id(concept_id: str) -> str:
    """Return an id as HTML; a valid CURIE links to bioregistry.io."""
    shown = f"<code>{escape(concept_id)}</code>"
    if not _LINKED.fullmatch(concept_id):
        return shown
    return f'<a href="https://bioregistry.io/{concept_id}" target="_blank" rel="noopener noreferrer">{shown}</a>'
