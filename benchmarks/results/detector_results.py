"""Recompute the F1 of detectors (span and type) from the stored spans, and check the results page.

Fails if a figure differs from results/detect or is missing from results/tables.md; `--write` writes the page.
Detectors are named after their training data. `granite-without-ncbi` was trained without NCBI disease, for a third of the
steps; it is to be compared with `granite-three-third`, which was trained with NCBI disease for the same number of steps.

spans    F1 over all types, for each row
by_type  F1 of each type on the test split of BioRED
unseen   for each corpus that a detector was not trained on: test F1 of this detector and of the others
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.results.check import page_problems
from benchmarks.results.page import PAGE
from benchmarks.results.span_rows import ALL, DATASETS, STORE, SpanRow, documents_of, judge_spans, rows_in, spans_in
from benchmarks.results.store import between, table

_TITLES = {"bc5cdr": "BC5CDR", "ncbi-disease": "NCBI disease", "biored": "BioRED"}
_UNSEEN = "granite-without-"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write", action="store_true", help="write the page")


def run(options: argparse.Namespace, folder: Path = STORE, page: Path = PAGE) -> dict[str, object]:
    rows = rows_in(folder)
    problems = [] if options.quick else [what for row in rows for what in _differences(row, folder)]
    is_written = options.write and not problems
    problems += page_problems("detector-results", lambda text: page_with(rows, text), is_written=is_written, path=page)
    if problems:
        sys.exit("\n".join(problems))
    by_type = {row.row: row.f1 for row in rows if (row.dataset, row.split) == ("biored", "test")}
    return {"spans": {row.row: row.f1[ALL] for row in rows}, "by_type": by_type, "unseen": unseen(rows)}


def unseen(rows: Sequence[SpanRow]) -> dict[str, dict[str, float]]:
    """Return the test F1 of all detectors run without a convention, for each corpus that some detector was not trained on."""
    of_test = [row for row in rows if row.split == "test" and not row.convention]
    return {
        dataset: {row.row.partition("/")[2]: row.f1[ALL] for row in of_test if row.dataset == dataset}
        for dataset in DATASETS
        if any(row.dataset == dataset and row.detector.startswith(_UNSEEN) for row in of_test)
    }


def page_with(rows: Sequence[SpanRow], page: str) -> str:
    """Return the page with a table for each corpus and split."""
    parts = []
    for dataset, title in _TITLES.items():
        for split in ("test", "dev"):
            if part := [row for row in rows if (row.dataset, row.split) == (dataset, split)]:
                parts.append(f"{title}, {split}: {part[0].mentions:,} mentions.")
                parts.append(_table(part))
    return between(page, "detectors", "\n\n".join(parts))


def _table(rows: Sequence[SpanRow]) -> str:
    types = list(rows[0].f1)
    ordered = sorted(rows, key=lambda row: (-row.f1[ALL], row.row))
    lines = [
        [
            f"{row.detector}, {row.classifier}" if row.classifier else row.detector,
            row.convention,
            *(f"{row.f1[name]:.1f}" if row.f1[name] else "" for name in types),
            f"{row.documents_per_s:.1f}",
        ]
        for row in ordered
    ]
    return table(("detector", "convention", *types, "documents/s"), lines)


def _differences(row: SpanRow, folder: Path) -> list[str]:
    again = judge_spans(documents_of(row.dataset, row.split), spans_in(row, folder))
    return [
        f"{row.row}: F1 of {name} is {again.get(name)}, not {kept}" for name, kept in row.f1.items() if again.get(name) != kept
    ]
