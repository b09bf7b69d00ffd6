"""Table format: one row per mention with the best answer, or the rows of a table of terms with their concepts.

The extension decides the file format (`onym.outputs.rows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from onym.kb import KnowledgeBase
from onym.outputs.base import ExportOptions, OutputContext, TermContext, refuse_options
from onym.outputs.rows import WRITERS, read_rows, require_rows, write_rows
from onym.outputs.terms import TermMapping, display_name
from onym.text.normal import normal_name
from onym.types import COLUMNS, Candidate, IdStyle, LinkedDocument, kinds_of, style_id

if TYPE_CHECKING:
    import polars as pl

ENDINGS = TERM_ENDINGS = tuple(WRITERS)
_TEXT = "text"


def check(context: OutputContext) -> None:
    """Raise ConfigError if FHIR or OMOP options are given, or if the extension is not that of a table."""
    refuse_options(context.options)
    require_rows(context.path)


def write(linked: Iterable[LinkedDocument], file: BinaryIO, context: OutputContext) -> None:
    """Write the rows of linked documents; without `context.text`, the column with the text of mentions is left out."""
    columns = kinds_of([name for name in COLUMNS if context.text or name != _TEXT])
    style = context.style or "obo"
    write_rows(([row[name] for name in columns] for each in linked for row in each.rows(style)), columns, context.path, file)


def read_flat(path: Path) -> pl.DataFrame:
    """Read a table written by `write`.

    >>> from onym.types import Candidate, Document, Link, Mention
    >>> doc = Document("1", "=SUM(1)", (Mention(0, 7, "=SUM(1)"),))
    >>> linked = LinkedDocument(doc, (Link(doc.mentions[0], (Candidate("hp:0001945", "fever", 1.0),)),))
    >>> path = getfixture("tmp_path") / "links.csv"
    >>> with path.open("wb") as file:
    ...     write([linked], file, OutputContext(path))
    >>> "'=SUM(1)" in path.read_text(), read_flat(path)["text"].to_list()
    (True, ['=SUM(1)'])
    """
    return read_rows(path, kinds_of())


TERM_COLUMNS: dict[str, type] = {
    "concept_id": str,
    "preferred_name": str,
    "matched_name": str,
    "score": float,
    "confidence": float,
    "ties": int,
    "nil_reason": str,
    "candidates": str,
}
"""Columns that are appended to those of the table."""
_LEAST = 0.01  # candidates that a reranker gives a lower probability are not shown


def check_terms(path: Path, options: ExportOptions) -> None:
    """Raise ConfigError if FHIR or OMOP options are given, or if the extension is not that of a table."""
    refuse_options(options)
    require_rows(path)


def write_terms(mappings: Iterable[TermMapping], file: BinaryIO, context: TermContext) -> None:
    """Write a table with its original columns, the best concept, and all candidates."""
    is_sheet = context.path.suffix == ".xlsx"
    rows = (
        [*_own_cells(mapping, is_sheet=is_sheet), *values_of(mapping, context.pipeline.kb, context.style)]
        for mapping in mappings
    )
    write_rows(rows, columns_of(context.columns), context.path, file)


def _own_cells(mapping: TermMapping, *, is_sheet: bool) -> tuple[Any, ...]:
    """Return the original cells of a row: typed values for a spreadsheet, else text."""
    return (is_sheet and mapping.values) or mapping.cells


def columns_of(own: Sequence[str]) -> dict[str, type]:
    """Return all columns with their types; a name that is already used gets a numeric suffix.

    >>> list(columns_of(["term", "score"]))[:6]
    ['term', 'score', 'concept_id', 'preferred_name', 'matched_name', 'score_2']
    """
    columns: dict[str, type] = {}
    for name, kind in [*((name, str) for name in own), *TERM_COLUMNS.items()]:
        number = 1
        unique = name
        while unique in columns:
            number += 1
            unique = f"{name}_{number}"
        columns[unique] = kind
    return columns


def values_of(mapping: TermMapping, kb: KnowledgeBase, style: IdStyle = "obo") -> list[Any]:
    """Return the values of `TERM_COLUMNS` for a mapping."""
    best = mapping.answer
    answer: list[Any] = [None] * 4
    if best:
        answer = [style_id(best.concept_id, style), display_name(best, kb), best.name, best.score]
    shown = "; ".join(
        f"{style_id(candidate.concept_id, style)} {display_name(candidate, kb)} ({candidate.score:.3f})"
        for candidate in likely_candidates(mapping.candidates, mapping.stage)
    )
    return [*answer, mapping.confidence, mapping.tied if mapping.candidates else None, mapping.nil_reason, shown or None]


def likely_candidates(candidates: Sequence[Candidate], stage: str | None) -> list[Candidate]:
    """Return the candidates without those to which a reranker gives almost no probability and another matched name.

    >>> candidates = (Candidate("hp:0001945", "Fever", 0.97), Candidate("hp:0001954", "Recurrent fever", 0.001))
    >>> [candidate.concept_id for candidate in likely_candidates(candidates, "rerank")]
    ['hp:0001945']
    """
    if stage != "rerank":
        return list(candidates)
    matched = {normal_name(candidate.name) for candidate in candidates[:1]}
    return [each for each in candidates if each.score >= _LEAST or normal_name(each.name) in matched]
