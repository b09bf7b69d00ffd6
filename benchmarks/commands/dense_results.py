"""Every figure of the dense linker, computed again from the kept predictions; and the page that shows them.

Options as for `generative-results`. `best` has for each benchmark the figures of the row that is best on dev; `askapatient`
the means over its folds of the configuration that is best on all their dev mentions together.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks.results.check import add_options, check
from benchmarks.results.dense_model import RANKINGS, SEARCHES, answers_kept, open_as_said, open_linker
from benchmarks.results.dense_page import ALL_FOLDS, FOLD_KEYS, KEYS, STAGES, fold_means, page_with
from benchmarks.results.section import Section
from benchmarks.results.store import Row, Store, best

__all__ = ["SECTION", "add_options", "run"]

_BEST = ("r1", "any_id_r1", "strict_r1", "r5")


def best_figures(rows: Sequence[Row]) -> dict[str, dict[str, object]]:
    """Return the figures of the rows that are best on dev."""
    named = {row.row: row for row in rows}
    found: dict[str, dict[str, object]] = {}
    for dataset, key in best([row for row in rows if row.dataset in KEYS]).items():
        found[dataset] = {"row": key, **{name: named[key].figures[name] for name in _BEST if name in named[key].figures}}
    if folds := best_folds([row for row in rows if row.dataset in FOLD_KEYS]):
        found[ALL_FOLDS] = {"folds": len(folds), "stage": folds[0].stage, **fold_means(folds)}
    return found


def best_folds(rows: Sequence[Row]) -> list[Row]:
    """Return the test rows of the configuration that is right most often on dev, over all folds."""
    hits: dict[tuple[str, str, str, str], float] = {}
    for row in rows:
        if row.split == "dev":
            hits[row.configuration] = hits.get(row.configuration, 0) + row.figures["hits"]
    configuration = max(hits, key=lambda each: (hits[each], each), default=None)
    return [row for row in rows if row.split == "test" and row.configuration == configuration]


SECTION = Section(
    name="dense",
    keys=KEYS + FOLD_KEYS,
    stages=STAGES,
    searches=SEARCHES,
    rankings=RANKINGS,
    open=open_linker,
    open_as_said=open_as_said,
    answers=answers_kept,
    page_with=page_with,
    best_figures=best_figures,
    figures=("r1", "any_id_r1", "strict_r1", "r5", "low", "high", "mentions", "in_kb"),
    usual_start="minilm",
)


def run(options: argparse.Namespace, store: Store | None = None) -> dict[str, object]:
    return check(SECTION, options, store)
