"""Tests of the normal form of names, for a string and for a column."""

from __future__ import annotations

import sys
import unicodedata

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from onym.text.normal import PUNCTUATION, normal_name, normal_names


def column(texts: list[str]) -> list[str]:
    return pl.DataFrame({"t": pl.Series(texts, dtype=pl.String)}).select(normal_names(pl.col("t")))["t"].to_list()


def test_each_code_point_is_the_same_in_a_column() -> None:
    scalars = [chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) != "Cs"]
    texts = [f"A{char}b" for char in scalars]
    different = [
        hex(ord(char)) for char, one, other in zip(scalars, map(normal_name, texts), column(texts), strict=True) if one != other
    ]
    assert different == []


@given(st.lists(st.text()))
def test_a_column_is_normalised_as_strings_are(texts: list[str]) -> None:
    assert column(texts) == [normal_name(text) for text in texts]


@given(st.text())
def test_normalisation_is_idempotent(text: str) -> None:
    once = normal_name(text)
    assert normal_name(once) == once
    assert not set(once) & set(PUNCTUATION)
    assert "  " not in once
    assert once == once.strip(" ")


def test_the_published_rule() -> None:
    assert normal_name("Beta-Blocker (Type I), e.g. [X]*") == "beta blocker type i e g x"
    assert normal_name("a:b & c#d^e~f|g") == "a:b & c#d^e~f|g"


def test_column_handles_capital_sigma_like_strings() -> None:
    around = [chr(c) for c in range(0x3000) if unicodedata.category(chr(c)) in ("Mn", "Lm", "Sk", "Cf", "Po", "Lu", "Ll", "Lo")]
    texts = [
        pattern.format(char)
        for char in around
        for pattern in ("\u0391\u03a3{}", "\u0391{}\u03a3", "\u0391\u03a3{}\u0391", "{}\u03a3")
    ]
    assert column(texts) == [normal_name(text) for text in texts]


def test_unknown_and_empty_names() -> None:
    frame = pl.DataFrame({"t": [None, "\u0391\u03a3", "", "-"]})
    assert frame.select(normal_names(pl.col("t")))["t"].to_list() == [None, "\u03b1\u03c2", "", ""]
    assert column([]) == []
