"""Mappings as a table separated by tabs: the columns that were there, and the concepts beside them."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Sequence
from typing import BinaryIO

from onym.kb import KnowledgeBase
from onym.predictions.mapping.terms import TermMapping, shown_name

COLUMNS = ("concept_id", "concept_name", "score", "tied", "candidates", "confidence")
"""What is put beside the columns of the table."""


def write_table(mappings: Iterable[TermMapping], columns: Sequence[str], kb: KnowledgeBase, file: BinaryIO) -> None:
    """Write a table separated by tabs: its own columns, the best concept, and all candidates beside it."""
    text = codecs.getwriter("utf-8")(file)  # which, unlike io's, leaves the file open whatever happens
    writer = csv.writer(text, dialect="excel-tab", lineterminator="\n")
    writer.writerow([*columns, *COLUMNS])
    for mapping in mappings:
        writer.writerow([*mapping.cells, *_cells(mapping, kb)])


def _cells(mapping: TermMapping, kb: KnowledgeBase) -> list[str]:
    if not mapping.candidates:
        return [""] * len(COLUMNS)
    best = mapping.answer
    shown = "; ".join(f"{each.concept_id} {shown_name(each, kb)} ({each.score:.3f})" for each in mapping.candidates)
    answer = [best.concept_id, shown_name(best, kb), f"{best.score:.3f}"] if best else ["", "", ""]
    confidence = "" if mapping.confidence is None else f"{mapping.confidence:.3f}"
    return [*answer, "yes" if mapping.is_tied else "no", shown, confidence]
