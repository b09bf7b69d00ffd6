"""Tests of the helpers that build terminal tables: alignment, footnotes, and no markup from untrusted text."""

from __future__ import annotations

from onym.evaluate.tables import mark_footnote, plain, table_of, with_note


def test_plain_text_without_markup_or_control_characters() -> None:
    assert plain("[bold]\x1b").plain == "[bold]\\x1b"


def test_numbers_are_right_aligned() -> None:
    assert [column.justify for column in table_of("title", ("name",), ("n",)).columns] == ["left", "right"]


def test_footnote_and_star() -> None:
    table = table_of("title", ("name",), ("n",))
    assert with_note(table, "").caption is None
    assert getattr(with_note(table, "a [b]").caption, "plain", "") == "* a [b]"
    assert (mark_footnote("strict", ""), mark_footnote("strict", "a")) == ("strict", "strict*")
