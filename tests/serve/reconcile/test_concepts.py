"""Tests of the properties of concepts, of data extension, and of preview cards."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.kb import KnowledgeBase
from onym.serve.reconcile.concepts import HEADERS, PROPERTIES, card, extend_concepts, properties_like, propose_properties


def test_property_values(kb: KnowledgeBase) -> None:
    fever = kb["mesh:D005334"]
    values = {key: each.values(fever) for key, each in PROPERTIES.items()}
    assert values["name"] == ["Fever"]
    assert values["synonyms"] == ["Pyrexia", "Hyperthermia", "Ague"]
    assert values["definition"] == ["A rise of temperature."]
    assert values["xrefs"] == ["HP:0001945"]
    assert values["types"] == ["C23"]


def test_suggests_and_proposes_properties() -> None:
    assert [each["id"] for each in properties_like("XREF")] == ["xrefs"]
    assert len(properties_like("")) == len(PROPERTIES)
    assert propose_properties("Disease", 1) == {"properties": [{"id": "name", "name": "name"}], "type": "Disease", "limit": 1}
    assert set(propose_properties("", None)) == {"properties"}


def test_extends_each_id_with_each_property(kb: KnowledgeBase) -> None:
    found = extend_concepts(kb, ["mesh:d005334", "no-such-id"], [{"id": "xrefs"}, {"id": "nothing"}])
    assert found["meta"] == [{"id": "xrefs", "name": "cross-references"}, {"id": "nothing", "name": "nothing"}]
    assert found["rows"] == {
        "mesh:d005334": {"xrefs": [{"str": "HP:0001945"}], "nothing": []},
        "no-such-id": {"xrefs": [], "nothing": []},
    }


@pytest.mark.parametrize(
    ("limit", "count"), [(1, 1), ("2", 2), (0, 3), (None, 3), ("x", 3), (-1, 3), (float("inf"), 3), ([], 3)]
)
def test_limit_setting(kb: KnowledgeBase, limit: object, count: int) -> None:
    wanted = [{"id": "synonyms", "settings": {"limit": limit}}]
    assert len(extend_concepts(kb, ["MESH:D005334"], wanted)["rows"]["MESH:D005334"]["synonyms"]) == count


KEYS = ("name", "synonyms", "definition", "xrefs", "groups", "types")


class Tags(HTMLParser):
    """Collects the elements and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]


def test_card_shows_property_values() -> None:
    page = card(
        "MESH:D005334", {"name": ["Fever"], "synonyms": ["Pyrexia", "Ague"], "xrefs": ["HP:0001945"], "groups": ["Disease"]}
    )
    assert "<h1>Fever</h1>" in page
    assert "Pyrexia; Ague" in page
    assert Tags(page).links == ["https://bioregistry.io/MESH:D005334", "https://bioregistry.io/HP:0001945"]
    many = card("MESH:D005334", {"name": ["Fever"], "synonyms": [f"name {row}" for row in range(50)]})
    assert "name 11; ..." in many
    assert "name 12" not in many


@given(
    st.text(max_size=40), st.lists(st.text(max_size=40) | st.sampled_from(["<script>alert(1)</script>", "\"'><img onerror=x>"]))
)
def test_card_escapes_all_values(concept_id: str, values: list[str]) -> None:
    tags = Tags(card(concept_id, dict.fromkeys(KEYS, values)))
    assert tags.found <= {"html", "head", "meta", "title", "style", "body", "h1", "p", "a", "code", "dl", "dt", "dd"}
    assert tags.attributes <= {"lang", "charset", "href", "target", "rel"}
    assert all(link.startswith("https://bioregistry.io/") for link in tags.links)


def test_policy_loads_nothing_and_allows_framing() -> None:
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "unsafe" not in policy
    assert "frame-ancestors *" in policy
    assert HEADERS["referrer-policy"] == "no-referrer"
