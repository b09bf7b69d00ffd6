"""Tests of converting offsets between code points, bytes and UTF-16 code units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.corpora.formats._bioc import Unit, Units
from onym.errors import InputError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(TEXT, st.sampled_from(["utf8", "utf16"]))
def test_offset_round_trip(text: str, unit: Unit) -> None:
    units = Units(text, unit)
    for offset in range(len(text) + 1):
        expected = len(text[:offset].encode()) if unit == "utf8" else len(text[:offset].encode("utf-16-le")) // 2
        assert units.of(offset) == expected
        assert units.code_point(expected) == offset


@pytest.mark.parametrize(("text", "offset"), [("\u03b1", 1), ("abc", 4), ("\u03b1", 3), ("abc", -1)])
def test_rejects_offset_inside_a_character(text: str, offset: int) -> None:
    with pytest.raises(InputError, match="offset-unit"):
        Units(text, "utf8").code_point(offset)


def test_rejects_offset_outside_the_text() -> None:
    with pytest.raises(InputError, match="offset-unit"):
        Units("abc", "utf16").of(4)
