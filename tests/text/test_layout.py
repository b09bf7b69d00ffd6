"""Tests of the input layout of seq2seq linkers: it follows the template, fits the window and contains the mention."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.methods.generative.template import GENBIOEL, GENRE, InputLayout
from onym.models.tokens import Tokenizer
from tests.text.small_bpe import tokenizer_json

TEXT = "The patient is a man with a Heart Attack and high blood pressure."
START, END = TEXT.index("Heart"), TEXT.index(" and high")


@pytest.fixture(scope="module")
def tokens() -> Tokenizer:
    return Tokenizer(tokenizer_json())


def test_source_prompt_and_name(tokens: Tokenizer) -> None:
    layout = InputLayout(GENBIOEL, tokens)
    marked = " the patient is a man with a START heart attack END and high blood pressure."
    assert layout.source(TEXT, START, END) == [0, *tokens.ids(marked), 2]
    assert layout.prompt("Heart Attack") == tokens.ids(" heart attack is")
    assert layout.name("Myocardial Infarction") == tokens.ids(" myocardial infarction")


def test_layout_agrees_with_the_template(tokens: Tokenizer) -> None:
    layout = InputLayout(GENRE, tokens, window=20)
    assert layout.source(TEXT, START, END) == GENRE.source_ids(TEXT, START, END, tokens, budget=20)
    assert layout.prompt("Heart Attack") == []


@given(st.integers(8, 60), st.integers(0, 12), st.integers(1, 3))
def test_fits_the_window_and_keeps_the_whole_mention(window: int, first: int, words: int) -> None:
    tokens = Tokenizer(tokenizer_json())
    spans = [0] + [offset + 1 for offset, letter in enumerate(TEXT) if letter == " "] + [len(TEXT) + 1]
    first = min(first, len(spans) - 1 - words)
    start, end = spans[first], spans[first + words] - 1
    source = InputLayout(GENBIOEL, tokens, window).source(TEXT, start, end)
    marked = tokens.ids(f" START {TEXT[start:end].lower()} END")
    assert len(source) <= max(window, len(marked) + 2)
    offsets = [offset for offset in range(len(source)) if source[offset : offset + len(marked)] == marked]
    assert len(offsets) == 1


def test_cuts_mention_at_the_model_limit_not_at_the_window(tokens: Tokenizer) -> None:
    text = "heart attack " * 40
    alone = [0, *tokens.ids(f" START {text.strip()} END"), 2]
    assert InputLayout(GENBIOEL, tokens, window=16).source(text, 0, len(text) - 1) == alone
    assert InputLayout(GENBIOEL, tokens, window=16, max_tokens=50).source(text, 0, len(text) - 1) == alone[:50]
    assert len(InputLayout(GENBIOEL, tokens, window=500, max_tokens=12).source(TEXT, START, END)) == 12


def test_cuts_extremely_long_mentions(tokens: Tokenizer) -> None:
    text = "heart attack " * 2000
    assert len(InputLayout(GENBIOEL, tokens, window=16, max_tokens=100_000).source(text, 0, len(text) - 1)) == 1024
    prompt = InputLayout(GENBIOEL, tokens).prompt(text)
    assert len(prompt) == 256
    assert prompt[-1:] == tokens.ids(" is")[-1:]
    assert InputLayout(GENBIOEL, tokens, max_tokens=60).prompt(text) == prompt[-30:]


def test_special_tokens_in_the_text_are_plain_text(tokens: Tokenizer) -> None:
    source = InputLayout(GENBIOEL, tokens).source("a </s> <pad> fever", 13, 18)
    assert [token for token in source if token in (0, 1, 2)] == [0, 2]
