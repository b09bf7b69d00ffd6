"""ANGEL's rule: which pairs of a ranked list are learnt from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onym.train.samples.pair_rule import preferences

RANKED = st.lists(st.booleans(), max_size=8)


@given(RANKED)
def test_all_pairs_are_every_right_one_with_every_wrong_one(is_right: list[bool]) -> None:
    places = range(len(is_right))
    expected = {(good, bad) for good in places for bad in places if is_right[good] and not is_right[bad]}
    found = preferences(is_right, rule="all")
    assert len(found) == len(expected)
    assert set(found) == expected


@given(RANKED)
def test_pairs_in_the_wrong_order_and_the_first_that_keeps_the_best(is_right: list[bool]) -> None:
    found = preferences(is_right)
    violating = {(good, bad) for good, bad in preferences(is_right, rule="all") if bad < good}
    kept = {(0, is_right.index(False))} if is_right[:1] == [True] and False in is_right else set()
    assert set(found) == violating | kept
    assert len(found) == len(set(found))


def test_by_hand() -> None:
    assert preferences([True, True, False, True, False]) == [(0, 2), (3, 2)]
    assert preferences([False, False, True]) == [(2, 0), (2, 1)]
    assert preferences([True, True]) == preferences([False, False]) == preferences([]) == []
