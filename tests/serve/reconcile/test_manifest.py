"""What the service says of itself."""

from __future__ import annotations

from onym.kb import KnowledgeBase
from onym.serve.reconcile.manifest import manifest_of
from onym.serve.reconcile.semantic_types import SemanticTypes

BASE = "https://example.org/reconcile/secret"


def test_all_addresses_are_those_of_the_service(kb: KnowledgeBase) -> None:
    found = manifest_of(BASE, "Onym", SemanticTypes(kb), 0.9)
    assert found["view"]["url"] == found["preview"]["url"] == f"{BASE}/preview?id={{{{id}}}}"
    assert {each["service_url"] for each in found["suggest"].values()} == {BASE}
    assert found["extend"]["propose_properties"] == {"service_url": BASE, "service_path": "/extend/propose"}
    assert (found["name"], found["matchPrecision"]) == ("Onym", 0.9)


def test_it_says_where_nothing_is_matched(kb: KnowledgeBase) -> None:
    found = manifest_of(BASE, "Onym", SemanticTypes(kb), None)
    assert found["name"] == "Onym (not calibrated: no automatic matches)"
    assert found["matchPrecision"] is None
