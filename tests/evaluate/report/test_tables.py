"""Tables of the terminal."""

from __future__ import annotations

from onym.evaluate.report.tables import plain, table_of


def test_text_has_no_markup_and_no_control_characters() -> None:
    assert plain("[bold]\x1b").plain == "[bold]\\x1b"


def test_numbers_stand_to_the_right() -> None:
    assert [column.justify for column in table_of("title", ("name",), ("n",)).columns] == ["left", "right"]
