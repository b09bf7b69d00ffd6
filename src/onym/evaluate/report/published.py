"""Published figures beside one's own: a section of a report, and a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from onym.evaluate.published import PublishedFigure, published_on
from onym.evaluate.report.page import escaped, heads, numbers, scrolled, section
from onym.evaluate.report.tables import plain, table_of

if TYPE_CHECKING:
    from rich.table import Table

_TITLE = "Published on the same mentions, by the same protocol"
_NOTE = "As reported in the papers. Knowledge bases, models and training data differ from one to another."


def published_for(manifest: dict[str, Any], protocol: str) -> tuple[PublishedFigure, ...]:
    """Return what was published for the dataset of an evaluation, by its protocol."""
    dataset = manifest["dataset"]
    return published_on(str(dataset.get("name")), str(dataset.get("split")), protocol)


def published_section(figures: Sequence[PublishedFigure]) -> str:
    """Return the section of a page; nothing where there is none.

    >>> published_section(())
    ''
    """
    if not figures:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escaped(each.system)}</th><td>{escaped(each.model)}</td><td>{escaped(each.source)}</td>'
        f"{numbers((f'{each.percent:.1f}',))}</tr>"
        for each in figures
    )
    table = f"<table><thead><tr>{heads(('System', 'Model', 'Source', '%'), words=3)}</tr></thead><tbody>{rows}</tbody></table>"
    return section(_TITLE, "published", scrolled(table, _TITLE) + f'<p class="note">{_NOTE}</p>')


def published_tables(figures: Sequence[PublishedFigure]) -> list[Table]:
    """Return the table for the terminal, if there are figures: narrow enough for 80 characters."""
    if not figures:
        return []
    table = table_of(_TITLE, ("system", "source"), ("%",))
    for each in figures:
        table.add_row(*map(plain, (each.system, each.source, f"{each.percent:.1f}")))
    table.caption, table.caption_justify = plain(_NOTE), "left"
    return [table]
