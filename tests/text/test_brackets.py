"""Tests that spans contain both brackets of a pair or neither."""

from __future__ import annotations

import pytest

from onym.text.boundaries import close_brackets, is_balanced


@pytest.mark.parametrize(("text", "is_so"), [("", True), ("a(b)[c]", True), ("a(b", False), ("a)b(", True), ("[a)", False)])
def test_brackets_balance_by_kind(text: str, is_so: bool) -> None:
    assert is_balanced(text) is is_so


@pytest.mark.parametrize(
    ("text", "surface", "whole"),
    [
        ("a fever", "fever", "fever"),
        ("poly(ADP-ribose) here", "poly(ADP-ribose", "poly(ADP-ribose)"),
        ("the (G6PD) deficiency", "G6PD) deficiency", None),
        ("poly(ADP-ribose", "poly(ADP-ribose", None),
        ("a [b) c", "[b", None),
    ],
)
def test_close_brackets_adds_the_closing_bracket(text: str, surface: str, whole: str | None) -> None:
    start = text.index(surface)
    found = close_brackets(text, start, start + len(surface))
    assert (found and text[found[0] : found[1]]) == whole
