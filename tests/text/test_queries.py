"""Tests of the queries made from mentions, and of their grouping by document."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onym.text.queries import by_document, documents_of, queries_of
from onym.types import Document, Mention


def document(text: str, *surfaces: str) -> Document:
    """Return a document with the last occurrence of each surface as a mention."""
    starts = [(text.rindex(surface), surface) for surface in surfaces]
    return Document("1", text, tuple(Mention(start, start + len(surface), surface) for start, surface in starts))


def texts(document: Document, *, expand: bool) -> list[str]:
    return [query.text for query in queries_of(document, expand=expand)]


def test_queries_are_normalised_and_in_the_order_of_mentions() -> None:
    assert texts(document("HEART-Attack and Fever", "Fever", "HEART-Attack"), expand=True) == ["fever", "heart attack"]


def test_expands_abbreviations() -> None:
    doc = document("Myocardial infarction (MI) is common. Treat MI early, and AF.", "MI", "AF")
    assert texts(doc, expand=True) == ["myocardial infarction", "af"]
    assert texts(doc, expand=False) == ["mi", "af"]


def test_a_document_without_mentions_is_not_searched_for_abbreviations(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_text: str) -> None:
        raise AssertionError("abbreviations were expanded")

    monkeypatch.setattr("onym.text.abbreviations.Abbreviations.from_text", refuse)
    assert texts(Document("1", "Myocardial infarction (MI)"), expand=True) == []
    assert texts(document("MI", "MI"), expand=False) == ["mi"]


def test_documents_have_the_mentions_of_their_queries_only() -> None:
    first, second = document("fever and MI", "fever", "MI"), replace(document("fever", "fever"), id="2")
    wanted = [query for each in (first, second) for query in queries_of(each)][1:]
    assert [[query.text for query in group] for group in by_document(wanted)] == [["mi"], ["fever"]]
    found = documents_of(wanted)
    assert [(each.id, each.text, [mention.surface for mention in each.mentions]) for each in found] == [
        ("1", "fever and MI", ["MI"]),
        ("2", "fever", ["fever"]),
    ]
