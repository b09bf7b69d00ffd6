"""Tests of keys that ignore word order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.text.normal import SMALL_WORDS, word_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("loss of hair", "hair loss"),
        ("anomalies of the ears", "ear anomaly"),
        ("cyst of the jaw", "jaw cysts"),
        ("branchial fistula", "branchial fistulae"),
        ("basal cell nevi", "basal cell nevus"),
        ("diseases of the heart", "heart disease"),
        ("diagnoses", "diagnosis"),
        ("abscesses in the lung", "lung abscess"),
        ("fibromas", "fibroma"),
        ("fibromata", "fibroma"),
        ("headaches", "headache"),
        ("reflexes", "reflex"),
    ],
)
def test_same_key(one: str, other: str) -> None:
    assert word_key(one.split()) == word_key(other.split()) != ""


@pytest.mark.parametrize(
    ("one", "other"), [("low bone mass", "low body mass"), ("type 1", "type 2"), ("loss and gain", "loss gain")]
)
def test_different_keys(one: str, other: str) -> None:
    assert word_key(one.split()) != word_key(other.split())


@given(st.lists(st.text("abceimosuxy", min_size=1, max_size=8), max_size=6), st.randoms())
def test_key_ignores_order_and_small_words(words: list[str], rng: object) -> None:
    shuffled = [*words, *SMALL_WORDS]
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    assert word_key(shuffled) == word_key(words)
