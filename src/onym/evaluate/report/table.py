"""A report for the terminal: the figures of every protocol, and the slices of the chosen one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym.errors import printable
from onym.evaluate.report.content import ReportContent, interval, percent

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def report_tables(content: ReportContent) -> list[Table]:
    """Return the tables in the order in which they are shown; without slices there is one.

    >>> [table.title.plain for table in report_tables(ReportContent("exact", "bc5cdr", "test", "strict", "MeSH", ()))]
    ['exact on bc5cdr (test)']
    """
    return [headline_table(content), *([slices_table(content)] if content.slices else [])]


def headline_table(content: ReportContent) -> Table:
    """Return the figures of every protocol; the chosen one is marked by an arrow and is bold."""
    table = table_of(
        content.title, ("", "protocol"), ("recall@1", "95 %", "recall@5", "MAP", "n", "within reach: recall@1", "n")
    )
    for row in content.headline:
        is_chosen = row.protocol == content.protocol
        cells = (
            "→" if is_chosen else "",
            row.protocol,
            percent(row.recall_at_1),
            interval(row.low, row.high),
            percent(row.recall_at_5),
            percent(row.mean_average_precision),
            f"{row.cases:,}",
            percent(row.reachable_recall_at_1),
            f"{row.reachable:,}",
        )
        table.add_row(*map(plain, cells), style="bold" if is_chosen else "")
    return table


def slices_table(content: ReportContent) -> Table:
    """Return recall@1 of each slice."""
    table = table_of(f"Slices, {content.protocol}", ("slice",), ("n", "recall@1", "95 %"))
    for row in content.slices:
        figures = (percent(row.recall), interval(row.low, row.high)) if row.cases else ("–", "–")
        table.add_row(*map(plain, (row.title, f"{row.cases:,}", *figures)))
    return table


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


def plain(text: str) -> Text:
    """Return text without markup or control characters."""
    from rich.text import Text

    return Text(printable(text))
