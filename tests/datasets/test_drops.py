"""Tests that dropped mentions and problems are counted by split."""

from __future__ import annotations

from onym.corpora.base import Item
from onym.datasets.base import NO_ID, DropCounts
from onym.types import Document, Mention, Problem


def test_drops_and_counts_mentions_without_id() -> None:
    drops = DropCounts()
    doc = Document("1", "fever cough", (Mention(0, 5, "fever", ("mesh:D005334",)), Mention(6, 11, "cough")))
    assert [mention.surface for mention in drops.with_ids("dev", doc).mentions] == ["fever"]
    assert drops.dropped == {"dev": {NO_ID: 1}}
    assert drops.with_ids("test", drops.with_ids("dev", doc)).mentions
    assert "test" not in drops.dropped


def test_counts_problems_by_split() -> None:
    drops = DropCounts()
    items: list[Item] = [Problem("1", "corpus-offsets", "what"), Document("1", "x"), Problem("2", "corpus-malformed", "what")]
    assert [doc.id for doc in drops.iter_documents("train", items)] == ["1"]
    assert drops.problems == {"train": {"corpus-offsets": 1, "corpus-malformed": 1}}
