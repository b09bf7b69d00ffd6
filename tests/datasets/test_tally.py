"""Counts of what is left out."""

from __future__ import annotations

from onym.corpora.base import Item
from onym.datasets.tally import NO_ID, Tally
from onym.types import Document, Mention, Problem


def test_mentions_without_an_id_are_dropped_and_counted() -> None:
    tally = Tally()
    doc = Document("1", "fever cough", (Mention(0, 5, "fever", ("mesh:D005334",)), Mention(6, 11, "cough")))
    assert [mention.surface for mention in tally.with_ids("dev", doc).mentions] == ["fever"]
    assert tally.dropped == {"dev": {NO_ID: 1}}
    assert tally.with_ids("test", tally.with_ids("dev", doc)).mentions
    assert "test" not in tally.dropped


def test_problems_are_counted_by_split() -> None:
    tally = Tally()
    items: list[Item] = [Problem("1", "corpus-offsets", "what"), Document("1", "x"), Problem("2", "corpus-malformed", "what")]
    assert [doc.id for doc in tally.documents("train", items)] == ["1"]
    assert tally.problems == {"train": {"corpus-offsets": 1, "corpus-malformed": 1}}
