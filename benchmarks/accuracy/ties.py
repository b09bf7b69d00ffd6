"""Measure tie-breaking between concepts with equal scores: share and accuracy of each rule, and the gain in recall.

Uses dev and test of NCBI disease over the open knowledge base, only mentions whose gold id is in it. `before` counts ties as
wrong; `after` scores the first answer. `decided_by` has, for each rule, its share of the ties of exact match, TF-IDF and dense,
its accuracy, and the share of its ties that include the right concept. The generative rows are stored predictions, ordered by
ids only: they have no names, so the rules for name kind and source do not apply.

Fails if `any_id` changes, or if more than 2 % of the ties are broken by the id. `--quick` runs exact match on dev over MeSH
descriptors and MONDO. `--rows` adds all stored rows of results/.
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
    parser.add_argument("--rows", action="store_true", help="also compare all stored rows of results/")


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
    from benchmarks.accuracy.ties_rows import rows  # imported late: it imports torch, which a quick run does not need

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
                sys.exit(f"{name}, {split}: any-id changed from {figures['any_id_before']} to {figures['any_id_after']}")
