"""Tests that the vectorised word splitting agrees with splitting one text at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from onym.text.analysis import TextAnalysis
from onym.text.boundaries import words
from onym.text.fingerprints import NormalTexts, Numbered, code_points, word_ends

CHARS = "aB2 .-(\n\t:_&\u0130\u03a3\u03b2\u0301\u00ad\u200b\u2009\U0001f9ec\ud800\x1c"
texts = st.lists(st.text(st.sampled_from(CHARS) | st.characters(), max_size=30), max_size=5)


@given(texts)
def test_words_agree_with_single_texts(several: list[str]) -> None:
    together = NormalTexts(several)
    assert together.count == len(several)
    for number, text in enumerate(several):
        own = np.flatnonzero(together.owners == number).tolist()
        if number in together.odd:
            assert not own
            continue
        aligned = TextAnalysis(text).normal_form
        spans = words(aligned.text)
        found = [(together.raw_starts[row], together.raw_ends[row]) for row in own]
        assert found == [aligned.raw_span(*span) for span in spans]
        if own:  # the characters between words must also agree
            whole = together.text[together.starts[own[0]] : together.ends[own[-1]]]
            assert whole == aligned.text[spans[0][0] : spans[-1][1]]


def test_odd_texts_have_marks_or_grow_in_lower_case() -> None:
    several = ["fever", "\u03b2-actin \u2265 2", "e\u0301", "in\u00advisible", "\u0130", ""]
    assert NormalTexts(several).odd == {2, 3, 4}


@given(st.text(max_size=20), st.text(st.sampled_from(CHARS), max_size=20), st.text(st.sampled_from(CHARS), max_size=20))
def test_equal_slices_have_equal_fingerprints_at_any_offset(stretch: str, before: str, after: str) -> None:
    alone, inside = Numbered(code_points(stretch)), Numbered(code_points(before + stretch + after))
    start = np.array([len(before)])
    end = np.array([len(stretch)])
    assert alone.fingerprints(end - end, end).tolist() == inside.fingerprints(start, start + end).tolist()


def test_different_slices_have_different_fingerprints() -> None:
    codes = Numbered(code_points("fever fevers evref"))
    assert len(set(codes.fingerprints(np.array([0, 6, 13]), np.array([5, 12, 18])).tolist())) == 3


def test_fingerprints_of_long_texts() -> None:
    text = "fever " * 20_000
    codes = Numbered(code_points(text))
    first, last = codes.fingerprints(np.array([0, len(text) - 6]), np.array([5, len(text) - 1])).tolist()
    assert first == last


def test_ends_of_words() -> None:
    assert word_ends(code_points("")).tolist() == []
    assert word_ends(code_points("\u03b2 actin #")).tolist() == [1, 7]
