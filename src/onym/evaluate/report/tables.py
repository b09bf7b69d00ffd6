"""Tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym.errors import printable

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def table_of(title: str, words: tuple[str, ...], numbers: tuple[str, ...]) -> Table:
    """Return an empty table: columns of words, then columns of numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=plain(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for name in words:
        table.add_column(plain(name), no_wrap=True)
    for name in numbers:
        table.add_column(plain(name), justify="right")
    return table


def with_note(table: Table, note: str) -> Table:
    """Return a table with a footnote, if there is one; the lines that it concerns end with a star."""
    if note:
        table.caption, table.caption_justify = plain(f"* {note}"), "left"
    return table


def starred(text: str, note: str) -> str:
    """Return the first cell of a line of figures: it ends with a star if there is a footnote.

    >>> starred("strict", "1 of 960 mentions predicted")
    'strict*'
    """
    return f"{text}*" if note else text


def plain(text: str) -> Text:
    """Return text without markup or control characters."""
    from rich.text import Text

    return Text(printable(text))
