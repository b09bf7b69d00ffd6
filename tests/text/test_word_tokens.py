"""Tests of tokens and word features on arrays."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from onym.text.tokens import FIXED, ROWS, WordTokens

TEXTS = st.lists(st.text(alphabet="aBZ9 -.(\n\u03b2\u0130\u0301\U0001f9ec\ud800", max_size=30), min_size=1, max_size=4)


def surfaces(texts: list[str]) -> list[str]:
    tokens = WordTokens(texts)
    return [texts[owner][start:end] for owner, start, end in zip(tokens.owners, tokens.starts, tokens.ends, strict=True)]


def test_words_and_single_characters() -> None:
    assert surfaces(["5-HT2A(+), Na+/K+"]) == ["5", "-", "HT2A", "(", "+", ")", ",", "Na", "+", "/", "K", "+"]
    assert surfaces(["\u03b2-cell e\u0301tat", ""]) == ["\u03b2", "-", "cell", "e\u0301tat"]


@given(TEXTS)
def test_tokens_cover_all_visible_characters(texts: list[str]) -> None:
    assert "".join(surfaces(texts)) == re.sub(r"\s", "", "".join(texts))


@given(TEXTS)
def test_features_do_not_depend_on_other_texts(texts: list[str]) -> None:
    together, start = WordTokens(texts), 0
    for row, text in enumerate(texts):
        alone = WordTokens([text])
        assert (together.bounds[row], len(alone)) == (start, together.bounds[row + 1] - start)
        rows = slice(start, start + len(alone))
        found = together.features(together.words[rows])
        own = alone.features(alone.words)
        assert (found.fixed == own.fixed).all()
        assert (found.grams == own.grams).all()
        assert (together.fingerprints[together.words[rows]] == alone.fingerprints[alone.words]).all()
        start += len(alone)


def test_features_are_rows_of_the_table() -> None:
    tokens = WordTokens(["Fever fever carcinomas a \u0130stanbul"])
    found = tokens.features(np.arange(len(tokens.fingerprints)))
    assert found.fixed.shape == (5, FIXED)
    assert 0 <= found.fixed.min() <= max(found.fixed.max(), found.grams.max()) < ROWS


def test_case_is_in_the_shape_alone() -> None:
    tokens = WordTokens(["fever Fever"])
    lower, upper = tokens.features(tokens.words).fixed
    assert (lower != upper).tolist() == [False] * (FIXED - 1) + [True]
