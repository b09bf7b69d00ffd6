"""Tests that candidate spans of a tokenised text begin and end at word boundaries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from onym.methods.tagger.spans import word_edges, word_spans
from onym.models.tokens import Placed, Tokenizer
from tests.support.models import tokenizer_json

TOKENS = Tokenizer(tokenizer_json([" fever", " heart attack"]).encode())


def test_all_spans_of_whole_words() -> None:
    text = "high fever-free é"
    tokens = TOKENS.tokenize_with_offsets(text)
    found = {text[tokens.starts[first] : tokens.ends[last - 1]] for first, last in word_spans(text, tokens, 50).tolist()}
    words = ["high", "fever", "-", "free", "é"]
    assert {"high fever", "fever-free", "-free é", *words} <= found
    assert len(found) == 15
    short = word_spans(text, tokens, 2)
    assert (short[:, 1] - short[:, 0] <= 2).all()


@settings(max_examples=200)
@given(st.text(st.sampled_from("ab1 -é🙂e\u0301\u200b\r\n"), max_size=20), st.integers(1, 6))
def test_spans_begin_and_end_at_word_boundaries(text: str, max_tokens: int) -> None:
    tokens = TOKENS.tokenize_with_offsets(text)
    begins, finishes = word_edges(text, tokens)
    wanted = [
        [first, last]
        for first in range(len(tokens))
        for last in range(first + 1, min(first + max_tokens, len(tokens)) + 1)
        if begins[first] and finishes[last - 1]
    ]
    assert word_spans(text, tokens, max_tokens).tolist() == wanted
    assert begins.sum() == finishes.sum()
    for first, last in wanted:
        surface = text[tokens.starts[first] : tokens.ends[last - 1]]
        assert surface
        assert surface == surface.strip()


def test_no_tokens(tmp_path: Path) -> None:
    none = Placed(*(np.zeros(0, dtype=np.int64) for _ in range(3)))
    assert word_spans("", none, 5).shape == (0, 2)
