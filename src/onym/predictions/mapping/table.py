"""Mappings as a table: the columns that were there, and after them the concepts, in any format of `onym.predictions.rows`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from onym.kb import KnowledgeBase
from onym.predictions.mapping.terms import TermMapping, shown_name
from onym.predictions.rows import write_rows
from onym.views import IdStyle, styled

COLUMNS: dict[str, type] = {
    "concept_id": str,
    "preferred_name": str,
    "matched_name": str,
    "score": float,
    "confidence": float,
    "ties": int,
    "nil_reason": str,
    "candidates": str,
}
"""What is put after the columns of the table."""
_DIGITS = 4


def write_table(
    mappings: Iterable[TermMapping],
    own: Sequence[str],
    kb: KnowledgeBase,
    path: Path,
    file: BinaryIO,
    *,
    style: IdStyle = "obo",
) -> None:
    """Write a table with its own columns, the best concept, and all candidates."""
    rows = ([*mapping.cells, *values_of(mapping, kb, style)] for mapping in mappings)
    write_rows(rows, columns_of(own), path, file)


def columns_of(own: Sequence[str]) -> dict[str, type]:
    """Return all columns, and what is in them; of a name that is there twice, the later one gets a number.

    >>> list(columns_of(["term", "score"]))[:6]
    ['term', 'score', 'concept_id', 'preferred_name', 'matched_name', 'score_2']
    """
    columns: dict[str, type] = {}
    for name, kind in [*((name, str) for name in own), *COLUMNS.items()]:
        number = 1
        unique = name
        while unique in columns:
            number += 1
            unique = f"{name}_{number}"
        columns[unique] = kind
    return columns


def values_of(mapping: TermMapping, kb: KnowledgeBase, style: IdStyle = "obo") -> list[Any]:
    """Return what is put after the cells of a row."""
    best = mapping.answer
    answer: list[Any] = [None] * 4
    if best:
        answer = [styled(best.concept_id, style), shown_name(best, kb), best.name, round(best.score, _DIGITS)]
    confidence = None if mapping.confidence is None else round(mapping.confidence, _DIGITS)
    shown = "; ".join(
        f"{styled(each.concept_id, style)} {shown_name(each, kb)} ({each.score:.3f})" for each in mapping.candidates
    )
    return [*answer, confidence, mapping.tied if mapping.candidates else None, mapping.nil_reason, shown or None]
