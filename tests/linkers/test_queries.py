"""Tests of the queries made from mentions."""

from __future__ import annotations

import pytest

from onym.rerank.memory import queries
from onym.types import Document, Mention


def document(text: str, *surfaces: str) -> Document:
    """Return a document with the last occurrence of each surface as a mention."""
    starts = [(text.rindex(surface), surface) for surface in surfaces]
    return Document("1", text, tuple(Mention(start, start + len(surface), surface) for start, surface in starts))


def test_queries_are_normalised_and_in_the_order_of_mentions() -> None:
    assert queries(document("HEART-Attack and Fever", "Fever", "HEART-Attack"), expand=True) == ["fever", "heart attack"]


def test_expands_abbreviations() -> None:
    doc = document("Myocardial infarction (MI) is common. Treat MI early, and AF.", "MI", "AF")
    assert queries(doc, expand=True) == ["myocardial infarction", "af"]
    assert queries(doc, expand=False) == ["mi", "af"]


def test_a_document_without_mentions_is_not_searched_for_abbreviations(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_text: str) -> None:
        raise AssertionError("abbreviations were expanded")

    monkeypatch.setattr("onym.text.abbreviations.Abbreviations.from_text", refuse)
    assert queries(Document("1", "Myocardial infarction (MI)"), expand=True) == []
    assert queries(document("MI", "MI"), expand=False) == ["mi"]
