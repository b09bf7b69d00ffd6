"""A linking report for the terminal: the figures of every protocol, and the subgroups of the main one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym.evaluate.report.linking.content import ReportContent
from onym.evaluate.report.published import published_tables
from onym.evaluate.report.tables import plain, starred, table_of, with_note
from onym.evaluate.report.values import interval, percent

if TYPE_CHECKING:
    from rich.table import Table


def linking_tables(content: ReportContent) -> list[Table]:
    """Return the tables in order; without slices there is one.

    >>> [table.title.plain for table in linking_tables(ReportContent("exact", "bc5cdr", "test", "strict", "MeSH", ()))]
    ['exact on bc5cdr (test)']
    """
    slices = [slices_table(content)] if content.slices else []
    return [headline_table(content), *published_tables(content.published), *slices]


def headline_table(content: ReportContent) -> Table:
    """Return the figures of every protocol; the main one is marked by an arrow and is bold."""
    table = table_of(
        content.title, ("", "protocol"), ("recall@1", "95 % CI", "recall@5", "MAP", "n", "gold in KB: recall@1", "n")
    )
    for row in content.headline:
        is_main = row.protocol == content.protocol
        cells = (
            "→" if is_main else "",
            starred(row.protocol, content.coverage),
            percent(row.recall_at_1),
            interval(row.low, row.high),
            percent(row.recall_at_5),
            percent(row.mean_average_precision),
            f"{row.cases:,}",
            percent(row.in_kb_recall_at_1),
            f"{row.in_kb:,}",
        )
        table.add_row(*map(plain, cells), style="bold" if is_main else "")
    return with_note(table, content.coverage)


def slices_table(content: ReportContent) -> Table:
    """Return recall@1 of each slice."""
    table = table_of(f"Results by subgroup, {content.protocol}", ("subgroup",), ("n", "recall@1", "95 % CI"))
    for row in content.slices:
        figures = (percent(row.recall), interval(row.low, row.high)) if row.cases else ("–", "–")
        table.add_row(*map(plain, (row.title, f"{row.cases:,}", *figures)))
    return table
