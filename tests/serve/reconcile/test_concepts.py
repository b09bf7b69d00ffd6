"""Tests of the properties of concepts, of data extension, and of preview cards."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.serve.reconcile.concepts import (
    HEADERS,
    PROPERTIES,
    Value,
    card,
    extend_concepts,
    propose_properties,
    suggest_properties,
)
from tests.serve.reconcile.conftest import HOSTILE

PARENTS = [{"id": "MESH:D000001", "name": HOSTILE}, {"id": "MESH:D006973", "name": "Hypertension"}]


def texts(*values: str) -> list[Value]:
    """Return strings as property values."""
    return [{"str": value} for value in values]


def test_property_values(kb: KnowledgeBase) -> None:
    fever = kb["mesh:D005334"]
    values = {key: each.values(fever) for key, each in PROPERTIES.items()}
    assert values["name"] == texts("Fever")
    assert values["synonyms"] == texts("Pyrexia", "Hyperthermia", "Ague")
    assert values["definition"] == texts("A rise of temperature.")
    assert values["xrefs"] == texts("HP:0001945")
    assert values["types"] == texts("C23")
    assert (values["parents"], values["mapped_to"]) == (PARENTS, [])


def test_suggests_and_proposes_properties(kb: KnowledgeBase) -> None:
    assert [each["id"] for each in suggest_properties(kb, "XREF", 9)] == ["xrefs"]
    assert len(suggest_properties(kb, "", 99)) == len(PROPERTIES) - 1
    assert [each["id"] for each in suggest_properties(kb, "", 2, 1)] == ["synonyms", "definition"]
    proposed = {"properties": [{"id": "name", "name": "name"}], "type": "Disease", "limit": 1}
    assert propose_properties(kb, "Disease", 1) == proposed
    assert set(propose_properties(kb, "", None)) == {"properties"}


def test_relations_are_offered_if_the_knowledge_base_has_them(kb: KnowledgeBase, tiny_kb: Path, tmp_path: Path) -> None:
    (tmp_path / "mesh.tsv").write_text("D000001\tdrugs\t\tD01\nD000002\tacids\t\tD01.1\n")
    (tmp_path / "supp.tsv").write_text("C000001\tmade acid\t\tD000002\n")
    build_kb(Recipe.of({"sources": [{"path": "mesh.tsv"}, {"path": "supp.tsv"}]}), tmp_path / "kb", root=tmp_path)
    mesh = KnowledgeBase.open(tmp_path / "kb")
    known = [KnowledgeBase.open(tiny_kb), kb, mesh]
    offered = [{each["id"] for each in suggest_properties(each, "", 99)} & {"parents", "mapped_to"} for each in known]
    assert offered == [set(), {"parents"}, {"parents", "mapped_to"}]
    found = extend_concepts(mesh, ["C000001"], [{"id": "parents"}, {"id": "mapped_to"}])["rows"]["C000001"]
    assert found == {"parents": [], "mapped_to": [{"id": "MESH:D000002", "name": "acids"}]}


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
    values = {"name": "Fever", "xrefs": "HP:0001945", "groups": "Disease"}
    page = card("MESH:D005334", {key: texts(value) for key, value in values.items()} | {"synonyms": texts("Pyrexia", "Ague")})
    assert "<h1>Fever</h1>" in page
    assert "Pyrexia; Ague" in page
    assert Tags(page).links == ["https://bioregistry.io/MESH:D005334", "https://bioregistry.io/HP:0001945"]
    assert "Parents" not in page
    many = card("MESH:D005334", {"name": texts("Fever"), "synonyms": texts(*(f"name {row}" for row in range(50)))})
    assert "name 11; ..." in many
    assert "name 12" not in many


def test_card_shows_parents_and_mapped_headings() -> None:
    page = card("MESH:D005334", {"name": texts("Fever"), "parents": PARENTS, "mapped_to": PARENTS[1:]})
    assert "<dt>Parents</dt><dd>&lt;script&gt;" in page
    assert "<dt>Mapped to</dt><dd>Hypertension " in page
    ids = ("D005334", "D000001", "D006973", "D006973")
    assert Tags(page).links == [f"https://bioregistry.io/MESH:{each}" for each in ids]


@given(
    st.text(max_size=40), st.lists(st.text(max_size=40) | st.sampled_from(["<script>alert(1)</script>", "\"'><img onerror=x>"]))
)
def test_card_escapes_all_values(concept_id: str, values: list[str]) -> None:
    entities = [{"id": value, "name": value} for value in values]
    tags = Tags(card(concept_id, dict.fromkeys(KEYS, texts(*values)) | {"parents": entities, "mapped_to": entities}))
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
