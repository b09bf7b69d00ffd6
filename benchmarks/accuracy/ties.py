"""Ties between concepts of equal scores: which rule decides them, how often it is right, and what deciding is worth.

NCBI disease, dev and test, over the open knowledge base, mentions whose gold id it has. `before` counts a tie as wrong, as for
predictions that do not decide; `after` judges the first answer. `decided_by` has for each rule its share of the ties of exact
match, TF-IDF and dense, its accuracy, and the share of its ties in which the right concept is one of the tied. The generative
rows are the kept predictions, put in order by ids: they hold no names, so the kind and source of a name decide nothing there.

`any_id` must not change, and at most 2 % of the ties may be left to the id. `--quick` is exact match on dev over MeSH's
descriptors and MONDO. `--rows` also gives every kept row of results/ before and after.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from benchmarks.accuracy.ties_decided import (
    DATASET,
    GENERATIVE_ROWS,
    Rules,
    compare,
    decide_by_ids,
    measure,
    quick_kb,
    systems,
)
from benchmarks.report import data_folder
from benchmarks.results.store import FOLDER, Store
from benchmarks.results.tasks import SPLITS, open_task
from onym.datasets.prepared import open_dataset
from onym.evaluate.task import EvaluationTask

UPPER_BOUNDS = {"decided_by_id_pct": 2.0}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", action="store_true", help="also every kept row of results/, before and after")


def run(options: argparse.Namespace) -> dict[str, object]:
    tasks = _quick_tasks() if options.quick else _tasks()
    rules = Rules()
    strict: dict[str, dict[str, dict[str, Any]]] = {}
    for name, linker in systems(next(iter(tasks.values())).kb, is_quick=options.quick):
        strict[name] = {}
        for split, task in tasks.items():
            strict[name][split], own = measure(linker, task)
            strict[name][split]["decided_by"] = own.figures()
            rules.add(own)
    if not options.quick:
        strict["generative"] = {split: _generative(split, task) for split, task in tasks.items()}
    _require_any_id(strict)
    figures = rules.figures()
    more = {"rows": _rows()} if options.rows else {}
    return {
        "ties": rules.decided.total(),
        "decided_by": figures,
        "decided_by_id_pct": figures["id"]["share_pct"],
        "linkers": strict,
        **more,
    }


def _rows() -> list[dict[str, object]]:
    from benchmarks.accuracy.ties_rows import rows  # imports the libraries of models, which a quick run does without

    return list(rows())


def _tasks() -> dict[str, EvaluationTask]:
    found = {split: open_task(DATASET, split) for split in SPLITS}
    return {split: EvaluationTask(task.dataset, split, task.kb) for split, task in found.items()}


def _quick_tasks() -> dict[str, EvaluationTask]:
    return {"dev": EvaluationTask(open_dataset("ncbi-disease", data_folder()), "dev", quick_kb())}


def _generative(split: str, task: EvaluationTask) -> dict[str, Any]:
    store = Store(FOLDER / "generative")
    kept = store.predictions(store.row(GENERATIVE_ROWS[split]))
    return compare(task, kept, decide_by_ids(kept, task.kb))[0]


def _require_any_id(strict: dict[str, dict[str, dict[str, Any]]]) -> None:
    for name, splits in strict.items():
        for split, figures in splits.items():
            if figures["any_id_before"] != figures["any_id_after"]:
                sys.exit(f"{name}, {split}: any-id is {figures['any_id_after']}, not {figures['any_id_before']}")
