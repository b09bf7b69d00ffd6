"""Tests of formatting percentages, intervals and nested values."""

from __future__ import annotations

from onym.evaluate.content import flat, interval, percent


def test_percent_and_interval() -> None:
    assert (percent(1.0), percent(0.0)) == ("100.0", "0.0")
    assert interval(0.05, 0.1) == "5.0–10.0"
    assert interval(None, 0.1) == ""


def test_nested_values_are_flattened() -> None:
    assert flat({"a": {"b": {"c": 1}}, "d": [2]}) == [("a.b.c", "1"), ("d", "[2]")]
