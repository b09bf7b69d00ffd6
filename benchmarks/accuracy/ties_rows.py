"""Compute the figures of all stored rows of results/ before and after ties are broken by ids.

Stored predictions have ids and scores but no names, so the rules for name kind and source do not apply. End-to-end rows store
one answer per mention and have no ties.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.accuracy.ties_decided import compare, decide_by_ids
from benchmarks.results.e2e_predict import ANNOTATED
from benchmarks.results.e2e_tasks import end_to_end_task, judge_annotated, judge_found
from benchmarks.results.store import FOLDER, Row, Store
from benchmarks.results.tasks import open_task
from onym.evaluate.task import EvaluationTask

SECTIONS = ("generative", "dense")
END_TO_END = "e2e"


def rows() -> Iterator[dict[str, object]]:
    """Yield each stored row with its figures before and after ties are broken."""
    for section in (*SECTIONS, END_TO_END):
        store = Store(FOLDER / section)
        for row in store.rows():
            figures = _end_to_end(row, store) if section == END_TO_END else _measure_linker(row, store)
            yield {"section": section, "row": row.row, **figures}


def _measure_linker(row: Row, store: Store) -> dict[str, float]:
    task, kept = open_task(row.dataset, row.split), store.predictions(row)
    figures, _ = compare(EvaluationTask(task.dataset, task.split, task.kb), kept, decide_by_ids(kept, task.kb))
    return figures


def _end_to_end(row: Row, store: Store) -> dict[str, float]:
    task, kept = end_to_end_task(row.dataset, row.split), store.predictions(row)
    judge, key = (judge_annotated, "strict_r1") if row.search == ANNOTATED else (judge_found, "strict_f1")
    before, after = (judge(task, each)[key] for each in (kept, decide_by_ids(kept, task.kb)))
    return {f"{key}_before": before, f"{key}_after": after}
