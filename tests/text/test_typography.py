"""Tests of texts with typographic apostrophes, hyphens and spaces."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from onym.kb import KnowledgeBase
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.pipeline import Pipeline
from onym.text.typography import fold_document, fold_text, restore_text
from onym.types import Document, LinkedDocument, Mention


@given(st.text(alphabet="aB \u2019\u2010\u2013\u00a0\u201c\u2014\u00ad\U0001f9ec"))
def test_offsets_stay(text: str) -> None:
    folded = fold_text(text)
    assert len(folded) == len(text)
    assert fold_text(folded) == folded
    assert all(before == after for before, after in zip(text, folded, strict=True) if before.isalnum())


def test_a_clause_is_not_joined() -> None:
    assert fold_text("fever \u2014 cough") == "fever \u2014 cough"


def test_a_document_without_such_characters_is_the_same() -> None:
    doc = Document("1", "Fever")
    assert fold_document(doc) is doc
    linked = LinkedDocument(doc)
    assert restore_text(linked, doc.text) is linked


def test_links_have_the_surfaces_of_the_original_text(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    text = "High\u00a0fever\u2014no heart\u00a0attack, no heart\u2010attack."
    found = Pipeline(ExactLinker(kb), DictionaryDetector(kb)).link(text)
    assert found.document.text == text
    assert [(link.mention.surface, link.concept_id) for link in found.links] == [
        ("fever", "mesh:D005334"),
        ("heart\u00a0attack", "mesh:D009203"),
        ("heart\u2010attack", "mesh:D009203"),
    ]
    assert found.document.mentions == tuple(link.mention for link in found.links)


def test_annotated_mentions(tiny_kb: Path) -> None:
    doc = Document("1", "heart\u00a0attack", (Mention(0, 12, "heart\u00a0attack"),))
    found = Pipeline(ExactLinker(KnowledgeBase.open(tiny_kb))).link(doc)
    assert (found.links[0].concept_id, found.document) == ("mesh:D009203", doc)
