"""Tests of windows over long documents: each token's vector comes from one window, and windows do not depend on later text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onym.methods.collective.documents import windows

SIZES = st.integers(2, 40).flatmap(lambda length: st.tuples(st.just(length), st.integers(0, length - 1)))


@given(st.integers(0, 400), SIZES)
def test_each_token_is_taken_from_one_window(tokens: int, sizes: tuple[int, int]) -> None:
    length, overlap = sizes
    found = windows(tokens, length, overlap)
    assert [token for window in found for token in range(window.first, window.last)] == list(range(tokens))
    assert all(window.start <= window.first < window.last <= window.end <= tokens for window in found)
    assert all(window.end - window.start <= length for window in found)


@given(st.integers(1, 400), SIZES)
def test_tokens_are_taken_from_the_middle_of_windows(tokens: int, sizes: tuple[int, int]) -> None:
    length, overlap = sizes
    for window in windows(tokens, length, overlap):
        for token in (window.first, window.last - 1):
            assert window.start == 0 or token - window.start >= overlap // 2
            assert window.end == tokens or window.end - 1 - token >= overlap // 2


@given(st.integers(1, 300), st.integers(0, 300), SIZES)
def test_later_text_does_not_move_windows(tokens: int, more: int, sizes: tuple[int, int]) -> None:
    length, overlap = sizes
    before, after = windows(tokens, length, overlap), windows(tokens + more, length, overlap)
    assert [window.start for window in after[: len(before)]] == [window.start for window in before]
    assert [(window.first, window.last) for window in after[: len(before) - 1]] == [
        (window.first, window.last) for window in before[:-1]
    ]
