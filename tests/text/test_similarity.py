"""Similarity of names."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError
from onym.text.similarity import NameSimilarity

NAMES = ["heart attack", "heart failure", "fever", "yellow fever", "attack heart"]


def test_the_best_come_first_and_equal_ones_in_order() -> None:
    rows, scores = NameSimilarity(NAMES).top(["heart attack"], 3)[0]
    assert rows.tolist() == [0, 4, 1]  # the same 3-grams in another order are exactly as alike
    assert scores[0] == scores[1] == 1.0 > scores[2] > 0


def test_a_misspelt_name_is_found() -> None:
    assert NameSimilarity(NAMES).top(["yelow fevr"], 1)[0][0].tolist() == [3]


def test_nothing_in_common_finds_nothing() -> None:
    rows, scores = NameSimilarity(NAMES).top(["xyz"], 3)[0]
    assert rows.tolist() == scores.tolist() == []


def test_no_queries() -> None:
    assert NameSimilarity(NAMES).top([], 3) == []
    assert NameSimilarity(NAMES).pairwise([], []).tolist() == []


def test_within_searches_the_wanted_names_alone() -> None:
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


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sparse_dot_topn", None)
    with pytest.raises(ConfigError, match="extra-missing") as caught:
        NameSimilarity(NAMES)
    assert "onym[lexical]" in caught.value.fix
