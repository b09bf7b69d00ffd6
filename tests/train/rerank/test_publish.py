"""The card of a reranker."""

from __future__ import annotations

from onym.train.rerank.publish import card

RECORD = {
    "kb": {"digest": "ab", "concepts": 3, "names": 9},
    "parts": ["tfidf"],
    "trees": 8,
    "nodes": 20,
    "features": ["tfidf", "kind"],
    "corpora": [{"name": "mine", "documents": 6, "left_out": {"same id": 2, "same text": 1}, "licence": "CC0"}],
    "metrics": {"dev": {"mine": {"strict_r1": 81.25, "unseen": 50.0, "in_kb": 16}}},
}


def test_the_card_names_corpora_licences_and_figures() -> None:
    text = card(RECORD)
    assert "| mine | 6 | 3 | CC0 |" in text
    assert "| mine | 81.2 | - | 50.0 | 16 |" in text
    assert "8, with 20 nodes, over 2 features" in text
