"""The preview of a concept: a card of HTML without a script, in which everything is escaped. It may stand in frames."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape

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
"""No script, nothing that is loaded, no word to other sites of where a link was: the token may stand in the address."""
_SHOWN = {"synonyms": 12, "xrefs": 12, "types": 12}
_LINKED = re.compile(r"[A-Za-z][A-Za-z0-9.]*:[A-Za-z0-9._-]+")


def card(concept_id: str, values: Mapping[str, Sequence[str]]) -> str:
    """Return the card of a concept; `values` are those of its properties.

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
    """Return an id, as a link where it can be one: to the registry that knows where ids lead."""
    shown = f"<code>{escape(concept_id)}</code>"
    if not _LINKED.fullmatch(concept_id):
        return shown
    return f'<a href="https://bioregistry.io/{concept_id}" target="_blank" rel="noopener noreferrer">{shown}</a>'
