"""The near-misses benchmark: its systems, shares and page."""

from __future__ import annotations

from benchmarks.accuracy.near_misses import OF_CORPORA, near_percent, over_joined, over_open, page_with

from onym.evaluate.near_misses import RELATIONS, NearMisses, Nearness


def test_every_corpus_has_stored_predictions() -> None:
    systems = [each for corpus in OF_CORPORA for each in (*over_joined(corpus), *over_open(corpus))]
    assert {each.model for each in systems} == {"exact", "tfidf", "reranker", "dense", "generative"}
    assert all(part.path.is_file() for each in systems for part in each.parts)
    assert [len(each.parts) for each in systems if (each.corpus, each.model) == ("biored", "dense")] == [2]


def test_share_leaves_out_answers_that_are_partly_right_or_cannot_be_related() -> None:
    relations = ("parent", "child", "mapped", "sibling", "apart", "partly right", "not in the KB", "no answer")
    assert near_percent(NearMisses.of(map(Nearness, relations))) == 80.0
    assert near_percent(NearMisses.of([])) == 0.0


def test_page_has_a_row_for_each_corpus_and_model() -> None:
    counts = {"errors": 1234, **dict.fromkeys(RELATIONS, 0), "parent": 1234, "near_pct": 100.0}
    page = page_with({"bc5cdr": {"exact": counts}}, "<!-- near-misses: begin --><!-- near-misses: end -->")
    assert "| `bc5cdr` | exact | 1,234 | 0 | 1,234 | 0 |" in page
