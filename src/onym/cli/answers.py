"""Prints links on stdout: a table, or JSON lines with --json."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from onym.cli.console import write_json, write_table

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase
    from onym.outputs.terms import TermMapping
    from onym.types import IdStyle, LinkedDocument, Row

_HEADERS = {
    "text": "mention",
    "term": "term",
    "concept_id": "concept id",
    "preferred_name": "preferred name",
    "matched_name": "matched name",
    "confidence": "confidence",
    "score": "score",
    "ties": "ties",
    "nil_reason": "not linked",
    "assertion": "assertion",
}
_ROWS = 1_000  # maximum number of rows in the printed table


@dataclass
class Shown:
    """Collects linked documents or mapped terms and prints them."""

    json: bool
    text: bool = True
    rows: list[Row] = field(default_factory=list)
    hidden: int = 0

    @classmethod
    def of(cls, *, is_shown: bool, json: bool, text: bool = True) -> Shown | None:
        """Return a printer for a terminal or for --json; None if the links are written to a file or a pipe."""
        return cls(json, text) if is_shown and (json or sys.stdout.isatty()) else None

    def __call__(self, linked: Iterable[LinkedDocument]) -> None:
        """Print documents as JSON lines immediately, or collect their rows for the table."""
        for each in linked:
            if self.json:
                write_json(each.to_dict() if self.text else _without_text(each.to_dict()))
            else:
                self._keep(each.rows())

    def mappings(self, mappings: Iterable[TermMapping], own: Sequence[str], kb: KnowledgeBase, style: IdStyle) -> None:
        """Print mapped terms as JSON lines immediately, or collect them as rows for the table."""
        from onym.outputs.table import TERM_COLUMNS, columns_of, values_of

        columns = columns_of(own)
        for mapping in mappings:
            values = values_of(mapping, kb, style)
            if self.json:
                write_json(dict(zip(columns, [*mapping.cells, *values], strict=True)))
            elif mapping.term:
                self._keep([{"term": mapping.term, **dict(zip(TERM_COLUMNS, values, strict=True))}])

    def print(self) -> None:
        """Print the table, without empty columns."""
        names = [name for name in _HEADERS if any(row.get(name) for row in self.rows) and (self.text or name != "text")]
        if not self.rows and not self.json:
            write_table([], [["no mentions found"]])
        elif self.rows:
            write_table([_HEADERS[name] for name in names], [[_cell(row[name]) for name in names] for row in self.rows])
        if self.hidden:
            write_table([], [[f"{self.hidden:,} more rows; use -o FILE to write all of them"]])

    def _keep(self, rows: Sequence[Row]) -> None:
        kept = list(islice(rows, max(0, _ROWS - len(self.rows))))
        self.rows += kept
        self.hidden += len(rows) - len(kept)


def _cell(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "" if value is None else str(value)


def _without_text(values: dict[str, Any]) -> dict[str, Any]:
    links = [{name: value for name, value in link.items() if name != "text"} for link in values["links"]]
    return {name: value for name, value in values.items() if name != "text"} | {"links": links}
