"""Tests that the pattern of a character set matches exactly these characters."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from onym.text.boundaries import any_of

CHARS = st.frozensets(st.one_of(st.sampled_from("]^-\\[&~|a"), st.characters(exclude_categories=["Cs"])), min_size=1)


@given(CHARS, st.characters(exclude_categories=["Cs"]))
def test_matches_only_its_characters(chars: frozenset[str], other: str) -> None:
    pattern = re.compile(any_of(chars))
    assert all(pattern.fullmatch(char) for char in chars)
    assert (pattern.fullmatch(other) is not None) == (other in chars)
    assert pattern.fullmatch("ab") is None
