"""Tests of cutting the context around a mention to a token budget."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InputError
from onym.text.window import Window, token_window, word_window

WORDS = st.lists(st.sampled_from(["a", "bb", "ccc", "dddd"]), max_size=30)


def place_mention(before: list[str], after: list[str]) -> tuple[str, int, int]:
    left = " ".join(before)
    start = len(left) + bool(left)
    text = " ".join([*before, "FEVER", *after])
    return text, start, start + 5


@given(WORDS, WORDS, st.integers(1, 12).map(lambda n: 2 * n))
def test_genbioels_rule(before: list[str], after: list[str], words: int) -> None:
    text, start, end = place_mention(before, after)
    window = word_window(text, start, end, words)
    left, right = window.left.split(), window.right.split()
    assert window.surface == "FEVER"
    assert before[len(before) - len(left) :] == left
    assert after[: len(right)] == right
    if len(before) + len(after) + 1 <= words:
        assert (left, right) == (before, after)
    elif len(before) <= words // 2:
        assert left == before
        assert len(right) == min(len(after), words - max(1, len(before)))
    elif len(after) <= words // 2:
        assert right == after
        assert len(left) == min(len(before), words - max(1, len(after)))
    else:
        assert (len(left), len(right)) == (words // 2, words // 2)


@given(WORDS, WORDS, st.integers(0, 20))
def test_uses_but_does_not_exceed_the_token_budget(before: list[str], after: list[str], budget: int) -> None:
    text, start, end = place_mention(before, after)
    tokens = [match.span() for match in re.finditer(r"\S+", text)]
    window = token_window(text, start, end, budget, tokens)
    used = len(window.left.split()) + 1 + len(window.right.split())
    assert window.surface == "FEVER"
    assert used == max(1, min(budget, len(tokens)))
    assert text.replace(" ", "").find((window.left + window.surface + window.right).replace(" ", "")) >= 0


def test_mention_longer_than_the_budget_has_no_context() -> None:
    text = "of acute myocardial infarction in"
    tokens = [match.span() for match in re.finditer(r"\S+", text)]
    assert token_window(text, 3, 30, 2, tokens) == Window("", "acute myocardial infarction", "")


def test_rejects_mention_outside_the_text() -> None:
    with pytest.raises(InputError, match="type-offsets"):
        word_window("fever", 3, 9)
