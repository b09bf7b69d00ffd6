"""The card of a concept: nothing in it can run."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from onym.serve.reconcile.card import HEADERS, card

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


def test_a_card_shows_what_is_known() -> None:
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
def test_whatever_a_knowledge_base_holds_is_text(concept_id: str, values: list[str]) -> None:
    tags = Tags(card(concept_id, dict.fromkeys(KEYS, values)))
    assert tags.found <= {"html", "head", "meta", "title", "style", "body", "h1", "p", "a", "code", "dl", "dt", "dd"}
    assert tags.attributes <= {"lang", "charset", "href", "target", "rel"}
    assert all(link.startswith("https://bioregistry.io/") for link in tags.links)


def test_the_policy_lets_nothing_be_loaded_and_frames_show_it() -> None:
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "unsafe" not in policy
    assert "frame-ancestors *" in policy
    assert HEADERS["referrer-policy"] == "no-referrer"
