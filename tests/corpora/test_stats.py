"""Tests that the statistics of a corpus count documents, mentions and types."""

from __future__ import annotations

from onym.corpora.check import corpus_stats
from onym.types import Document, Mention, Problem, Relation


def test_counts_all_statistics() -> None:
    mentions = (
        Mention(0, 5, "fever", ("mesh:D005334",), "Disease"),
        Mention(0, 15, "fever and cough", ("mesh:D005334", "hp:1"), "Disease", parts=((0, 5), (10, 15))),
        Mention(10, 15, "cough"),
    )
    document = Document("1", "fever and cough", mentions, relations=(Relation("r", (("a", "b"),)),))
    counts = corpus_stats([document, Problem("1", "corpus-offsets", "w"), Document("2", "x")]).as_dict()
    assert counts == {
        "documents": 2, "code_points": 16, "mentions": 3, "without_id": 1, "composite": 1, "discontinuous": 1, "relations": 1,
        "concepts": 2, "left_out": 1, "types": {"Disease": 2, "(none)": 1}, "vocabularies": {"mesh": 2, "hp": 1},
        "problems": {"corpus-offsets": 1},
    }  # fmt: skip
