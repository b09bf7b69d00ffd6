"""Tests of the TF-IDF search for similar names."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.text.similarity import NameSimilarity

NAMES = ["heart attack", "heart failure", "fever", "yellow fever", "attack heart"]


def test_sorts_by_score_then_row() -> None:
    rows, scores = NameSimilarity(NAMES).top(["heart attack"], 3)[0]
    assert rows.tolist() == [0, 4, 1]  # names 0 and 4 have the same 3-grams, so the same score
    assert scores[0] == scores[1] == 1.0 > scores[2] > 0


def test_a_misspelt_name_is_found() -> None:
    assert NameSimilarity(NAMES).top(["yelow fevr"], 1)[0][0].tolist() == [3]


def test_no_result_without_common_trigrams() -> None:
    rows, scores = NameSimilarity(NAMES).top(["xyz"], 3)[0]
    assert rows.tolist() == scores.tolist() == []


def test_no_queries() -> None:
    assert NameSimilarity(NAMES).top([], 3) == []
    assert NameSimilarity(NAMES).pairwise([], []).tolist() == []


def test_within_finds_only_wanted_names() -> None:
    wanted = np.array([False, True, False, True, False])
    rows, _ = NameSimilarity(NAMES).within(wanted).top(["heart fever attack"], 5)[0]
    assert set(rows.tolist()) == {1, 3}


def test_a_filter_does_not_change_a_score() -> None:
    similarity = NameSimilarity(NAMES)
    all_rows, all_scores = similarity.top(["yellow heart"], 5)[0]
    known = dict(zip(all_rows.tolist(), all_scores.tolist(), strict=True))
    rows, scores = similarity.within(np.array([True, False, False, True, False])).top(["yellow heart"], 5)[0]
    assert scores.tolist() == [known[offset] for offset in rows.tolist()]


@given(st.lists(st.text(alphabet="abc de", min_size=1, max_size=12), min_size=1, max_size=8))
def test_pairs_agree_with_the_search(queries: list[str]) -> None:
    similarity = NameSimilarity(NAMES)
    for query, (rows, scores) in zip(queries, similarity.top(queries, 5), strict=True):
        pairs = similarity.pairwise([query] * len(rows), [NAMES[i] for i in rows])
        np.testing.assert_allclose(pairs, scores, atol=2e-6)
        assert (np.diff(scores) <= 0).all()


TEXTS = st.lists(st.text(alphabet="abcé DE\u1e9e\t", max_size=14), min_size=1, max_size=10)


@given(TEXTS, TEXTS)
def test_results_are_the_same_without_the_extra(names: list[str], queries: list[str]) -> None:
    vectors = NameSimilarity(names)
    fast = vectors.top(queries, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "sparse_dot_topn", None)
        slow = vectors.top(queries, 3)
    for (rows, scores), (own_rows, own_scores) in zip(fast, slow, strict=True):
        assert own_scores.tolist() == scores.tolist()
        above = scores > scores[-1] if len(scores) else scores
        assert own_rows[above.astype(bool)].tolist() == rows[above.astype(bool)].tolist()


def test_filters_work_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sparse_dot_topn", None)
    wanted = np.array([False, True, False, True, False])
    rows, _ = NameSimilarity(NAMES).within(wanted).top(["heart fever attack"], 5)[0]
    assert set(rows.tolist()) == {1, 3}


def test_many_pairs_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    similarity = NameSimilarity(NAMES)
    queries, pairs = ["heart", "fever", "attacks"], np.array([(q, n) for n in range(5) for q in (2, 0, 1)])
    whole = similarity.between(queries, pairs[:, 0], pairs[:, 1])
    for name, value in (("_PAIRS", 4), ("_DENSE", 1)):
        monkeypatch.setattr(f"onym.text.similarity.{name}", value)
        assert similarity.between(queries, pairs[:, 0], pairs[:, 1]).tolist() == whole.tolist()


@pytest.mark.parametrize("has_library", [True, False])
@given(names=TEXTS, queries=TEXTS)
def test_few_queries_get_the_same_results_as_many(has_library: bool, names: list[str], queries: list[str]) -> None:
    early, late = NameSimilarity(names), NameSimilarity(names)
    wanted = np.arange(len(names)) % 2 == 0
    with pytest.MonkeyPatch.context() as patch:
        if not has_library:
            patch.setitem(sys.modules, "sparse_dot_topn", None)
        _ = late._rows, late._columns
        pairs = np.zeros(len(names), dtype=np.int64), np.arange(len(names))
        assert early.between(queries, *pairs).tobytes() == late.between(queries, *pairs).tobytes()
        for one, other in ((early, late), (early.within(wanted), late.within(wanted))):
            other._calls = 100
            for (rows, scores), (expected, sound) in zip(one.top(queries, 3), other.top(queries, 3), strict=True):
                assert (rows.tolist(), scores.tobytes()) == (expected.tolist(), sound.tobytes())
    assert "_rows" not in early.__dict__


def test_builds_the_full_matrix_after_several_calls() -> None:
    similarity = NameSimilarity(NAMES)
    for _ in range(3):
        similarity.top(["fever"], 1)
        assert "_columns" not in similarity.__dict__
    similarity.top(["fever"], 1)
    assert "_columns" in similarity.__dict__
    assert "_columns" in _after_many(NameSimilarity(NAMES)).__dict__


def _after_many(similarity: NameSimilarity) -> NameSimilarity:
    similarity.top(["fever"] * 201, 1)
    return similarity
