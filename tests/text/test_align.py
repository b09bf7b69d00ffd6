"""Tests that spans of normalised text map back to the raw text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.text.analysis import Aligned, align, collapse, lower, nfkc, punctuation

# Ordinary characters, and characters that normalisation lengthens, shortens, combines or reorders.
TRICKY = st.text(
    st.one_of(
        st.sampled_from(
            "aZ \t\n\u0130\u03a3\ufb01\ufdfa\u0301\u0323\u00e9\u1100\u1161\u11a8\uac00\u0915\u093c\u09c7\u09be\u2126\u00bd-,("
        ),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=20,
)
STEPS = (nfkc, lower, punctuation, collapse)


def require_sound(aligned: Aligned) -> None:
    """Assert that the alignment is complete, monotone and in range."""
    assert len(aligned.starts) == len(aligned.ends) == len(aligned.text)
    assert all(0 <= start < end <= len(aligned.raw) for start, end in zip(aligned.starts, aligned.ends, strict=True))
    assert list(aligned.starts) == sorted(aligned.starts)
    assert list(aligned.ends) == sorted(aligned.ends)


@given(TRICKY)
def test_steps_agree_with_the_standard_library(raw: str) -> None:
    assert align(raw, nfkc).text == unicodedata.normalize("NFKC", raw)
    assert align(raw, lower).text == raw.lower()
    assert align(raw, collapse).text == " ".join(raw.split())


@given(TRICKY)
def test_alignment_is_valid_after_each_step(raw: str) -> None:
    for count in range(len(STEPS) + 1):
        require_sound(align(raw, *STEPS[:count]))


@given(TRICKY, st.data())
def test_raw_span_round_trip(raw: str, data: st.DataObject) -> None:
    aligned = align(raw, *STEPS)
    if not raw:
        return
    start = data.draw(st.integers(0, len(raw) - 1))
    end = data.draw(st.integers(start + 1, len(raw)))
    require_found_again(aligned, start, end)


def test_final_space_may_come_from_the_next_character() -> None:
    """NFKC turns a spacing cedilla into a space and a combining cedilla. That space is merged with the space before it."""
    aligned = align("0;\u00b8", *STEPS)
    assert aligned.text == "0 \u0327"
    assert aligned.raw_span(*aligned.norm_span(0, 2)) == (0, 3)
    require_found_again(aligned, 0, 2)


def require_found_again(aligned: Aligned, start: int, end: int) -> None:
    """Assert that mapping a raw span to normalised text and back does not add other characters."""
    first, last = aligned.norm_span(start, end)
    text = aligned.text[first:last]
    first, last = first + len(text) - len(text.lstrip()), last - (len(text) - len(text.rstrip()))
    if first < last:
        back_start, back_end = aligned.raw_span(first, last)
        inside = align(aligned.raw[back_start:back_end], nfkc, lower, punctuation).text.split()
        assert "".join(inside) == "".join(text.split())


def test_surface_round_trip() -> None:
    raw = "The \ufb01rst TNF-\u03b1  (0.5\u00bd)"
    aligned = align(raw, *STEPS)
    assert aligned.text == "the first tnf \u03b1 0 51\u20442"
    start, end = aligned.raw_span(*aligned.norm_span(4, 8))
    assert raw[start:end] == "\ufb01rst"


@pytest.mark.parametrize("raw", ["\u0915\u0315\u0301", "a\u0344", "\u1100\u1161", "\u0f40\u0f73\u0f71"])
def test_cluster_maps_to_all_its_characters(raw: str) -> None:
    """The alignment is right even if normalisation reorders or recombines characters without changing their number."""
    aligned = align(f"x{raw}y", nfkc)
    inside = slice(1, len(aligned.text) - 1)
    assert set(aligned.starts[inside]) == {1}
    assert set(aligned.ends[inside]) == {1 + len(raw)}
    assert (aligned.starts[0], aligned.ends[-1]) == (0, len(raw) + 2)


def test_collapsed_space_maps_to_the_whole_run() -> None:
    aligned = align(" a b  c\td \n", collapse)
    assert aligned.text == "a b c d"
    assert aligned.raw_span(3, 4) == (4, 6)
    assert aligned.norm_span(4, 6) == (3, 4)


@pytest.mark.parametrize("span", [(-1, 2), (2, 2), (0, 99)])
def test_rejects_span_outside_the_text(span: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="outside the text"):
        align("fever", lower).raw_span(*span)
    if span[0] != span[1]:
        with pytest.raises(ValueError, match="outside the text"):
            align("fever", lower).norm_span(*span)
