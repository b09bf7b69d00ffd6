"""Prints links on stdout: a table for people, or JSON lines with --json."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from onym.cli.console import tell, write_json, write_table

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase
    from onym.outputs.terms import TermMapping
    from onym.types import Candidate, IdStyle, LinkedDocument, Row

_HEADERS = {
    "text": "text",
    "term": "text",
    "concept_id": "id",
    "preferred_name": "preferred name",
    "confidence": "confidence",
    "score": "score",
    "assertion": "marks",
}
_MORE_HEADERS = {"matched_name": "matched name", "ties": "ties", "nil_reason": "not linked"}
_UNWRAPPED = ("id", "confidence", "score")
_ROWS = 1_000  # maximum number of rows in the printed table


@dataclass
class Shown:
    """Collects linked documents or mapped terms and prints them.

    On a terminal, unlinked mentions, further candidates (a row each, without text) and the columns of `_MORE_HEADERS` are
    printed only with `is_all`.
    """

    json: bool
    text: bool = True
    is_all: bool = False
    rows: list[Row] = field(default_factory=list)
    hidden: int = 0
    linked: int = 0
    unlinked: int = 0
    documents: int = 0

    @classmethod
    def of(cls, *, is_shown: bool, json: bool, text: bool = True, is_all: bool = False) -> Shown | None:
        """Return a printer for a terminal or for --json; None if the links are written to a file or a pipe."""
        return cls(json, text, is_all) if is_shown and (json or sys.stdout.isatty()) else None

    def __call__(self, linked: Iterable[LinkedDocument]) -> None:
        """Print documents as JSON lines immediately, or collect their rows for the table."""
        for each in linked:
            if self.json:
                write_json(each.to_dict() if self.text else _without_text(each.to_dict()))
                continue
            self.documents += 1
            for row, link in zip(each.rows(), each.links, strict=True):
                self._keep(row, link.candidates, link.stage)

    def mappings(self, mappings: Iterable[TermMapping], own: Sequence[str], kb: KnowledgeBase, style: IdStyle) -> None:
        """Print mapped terms as JSON lines immediately, or collect them as rows for the table."""
        from onym.outputs.table import TERM_COLUMNS, columns_of, values_of

        columns = columns_of(own)
        for mapping in mappings:
            values = values_of(mapping, kb, style)
            if self.json:
                write_json(dict(zip(columns, [*mapping.cells, *values], strict=True)))
            elif mapping.term:
                row = {"term": mapping.term, **dict(zip(TERM_COLUMNS, values, strict=True))}
                self._keep(row, mapping.candidates, mapping.stage)

    def print(self) -> None:
        """Print the table, and one line of counts on stderr. Columns without values are left out."""
        if self.json:
            return
        headers = _HEADERS | (_MORE_HEADERS if self.is_all else {})
        if self.documents > 1:
            headers = {"document": "document"} | headers
        names = [name for name in headers if any(row.get(name) for row in self.rows) and (self.text or name != "text")]
        if "confidence" in names and not self.is_all:
            names.remove("score")
        if self.rows:
            cells = [[_cell(row.get(name)) for name in names] for row in self.rows]
            write_table([headers[name] for name in names], cells, _UNWRAPPED)
        tell(self._describe())

    def _keep(self, row: Row, candidates: Sequence[Candidate], stage: str | None) -> None:
        """Keep the row of a mention or term, and with `is_all` a row for each further candidate."""
        is_linked = row["concept_id"] is not None
        self.linked += is_linked
        self.unlinked += not is_linked
        rows = [row] if is_linked or self.is_all else []
        if self.is_all:
            rows += _candidate_rows(candidates[is_linked:], stage)
        room = max(0, _ROWS - len(self.rows))
        self.rows += rows[:room]
        self.hidden += len(rows[room:])

    def _describe(self) -> str:
        """Return the line of counts, with the option that shows what is hidden."""
        if not self.linked + self.unlinked:
            return "no mentions found"
        unlinked = f"{self.unlinked:,} not linked{'' if self.is_all or not self.unlinked else ' (--all lists them)'}"
        of_documents = f" in {self.documents:,} documents" if self.documents > 1 else ""
        hidden = f"; {self.hidden:,} more rows: -o FILE writes all" if self.hidden else ""
        return f"{self.linked:,} linked, {unlinked}{of_documents}{hidden}"


def _cell(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "" if value is None else str(value)


def _candidate_rows(candidates: Sequence[Candidate], stage: str | None) -> list[Row]:
    from onym.outputs.table import likely_candidates

    return [
        {
            "concept_id": candidate.obo_id,
            "preferred_name": candidate.preferred_name,
            "score": candidate.score,
            "matched_name": candidate.name,
        }
        for candidate in likely_candidates(candidates, stage)
    ]


def _without_text(values: dict[str, Any]) -> dict[str, Any]:
    links = [{name: value for name, value in link.items() if name != "text"} for link in values["links"]]
    return {name: value for name, value in values.items() if name != "text"} | {"links": links}
