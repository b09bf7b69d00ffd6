"""The manifest: what the reconciliation service can do, and where."""

from __future__ import annotations

from typing import Any

from onym._version import __version__
from onym.serve.reconcile.semantic_types import SemanticTypes, as_type

WIDTH, HEIGHT = 420, 260
"""Of a preview, in pixels."""
_IDS, _TYPES = "https://bioregistry.io/", "urn:onym:semantic-types"
_LIMIT = {
    "name": "limit",
    "label": "Limit",
    "type": "number",
    "default": 0,
    "help_text": "Maximum number of values per row (0 for no limit)",
}


def manifest_of(base: str, name: str, types: SemanticTypes, precision: float | None) -> dict[str, Any]:
    """Return the manifest of a service at an address. `precision` is that of matches; None where nothing is matched.

    >>> from onym.kb import KnowledgeBase
    >>> types = SemanticTypes(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> manifest_of("http://localhost:8080/reconcile", "Onym", types, 0.95)["view"]
    {'url': 'http://localhost:8080/reconcile/preview?id={{id}}'}
    """

    def at(path: str) -> dict[str, str]:
        return {"service_url": base, "service_path": path}

    shown = f"{base}/preview?id={{{{id}}}}"
    return {
        "versions": ["0.2"],
        "name": name if precision is not None else f"{name} (not calibrated: no automatic matches)",
        "identifierSpace": _IDS,
        "schemaSpace": _TYPES,
        "serviceVersion": __version__,
        "defaultTypes": [as_type(label) for label in types.default()],
        "view": {"url": shown},
        "preview": {"url": shown, "width": WIDTH, "height": HEIGHT},
        "suggest": {kind: at(f"/suggest/{kind}") for kind in ("entity", "type", "property")},
        "extend": {"propose_properties": at("/extend/propose"), "property_settings": [_LIMIT]},
        "matchPrecision": precision,
    }
