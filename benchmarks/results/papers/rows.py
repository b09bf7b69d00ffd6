"""Rows under the papers' evaluation settings: their tasks, stored predictions and figures.

    results/rerank/papers/TASK.SPLIT.jsonl.gz   the predictions of a split, in the format of docs/reference/predictions.md
    results/rerank/papers/rows.json             the figures of each task and split, and the settings of the run

    ncbi_disease        as GenBioEL prepares it, linked to BioSyn's dictionary
    bc5cdr              diseases and chemicals, linked to the open, joined knowledge base; the papers use the names of UMLS
    askapatient_fold0   phrases of patients, linked to the labels and training phrases of the fold; ten folds

Protocol `any-id`: an answer is a name, which is right if any of its concepts is gold. Mentions whose gold id is not in the
knowledge base are left out; both counts are reported.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.report import data_folder
from benchmarks.results.rerank_rows import KEPT
from benchmarks.results.store import ROWS, Judged, between, differences, judge, table
from benchmarks.results.tasks import FOLDS, Task, open_kb_joined, open_task
from onym.datasets.prepared import open_dataset
from onym.outputs.predictions import read_predictions
from onym.store.output import whole_file

PAPERS = KEPT / "papers"
ASKAPATIENT = "askapatient"
FOLD_KEYS = tuple(f"{ASKAPATIENT}_fold{fold}" for fold in range(FOLDS))
KEYS = ("ncbi_disease", "bc5cdr", *FOLD_KEYS)
QUICK = FOLD_KEYS[:1]
"""Tasks that are scored again in seconds."""
PUBLISHED = {"ncbi_disease": 92.8, "bc5cdr": 94.5, ASKAPATIENT: 90.2}
"""Published results of ANGEL, 406 M parameters (Kim et al. 2024, table 1)."""
_FIGURES = ("any_id_r1", "strict_r1", "any_id_r5")
Rows = dict[str, dict[str, dict[str, Any]]]
"""By key and split: `figures`, and what they were `made` with."""


def open_papers_task(key: str, split: str) -> Task:
    """Open the task of a row."""
    if key == "bc5cdr":
        return Task(open_dataset(key, data_folder()), split, open_kb_joined())
    return open_task(key, split)


def file_of(key: str, split: str) -> Path:
    """Return the path of the stored predictions of a split."""
    return PAPERS / f"{key}.{split}.jsonl.gz"


def read_rows() -> Rows:
    """Return all rows by key and split."""
    path = PAPERS / ROWS
    found: Rows = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found


def keep_row(key: str, split: str, judged: Judged, made: dict[str, Any]) -> None:
    """Store the figures of a split."""
    rows = read_rows()
    rows.setdefault(key, {})[split] = {"figures": judged.figures, "made": made}
    with whole_file(PAPERS / ROWS, force=True) as file:
        file.write(json.dumps(dict(sorted(rows.items())), indent=1).encode() + b"\n")


def problems_of(rows: Rows, *, is_quick: bool) -> list[str]:
    """Score the stored predictions again, and return the differences from the rows."""
    problems = []
    for key in QUICK if is_quick else KEYS:
        for split, row in rows.get(key, {}).items():
            task, predictions = open_papers_task(key, split), read_predictions(file_of(key, split))
            if predictions.source["kb"]["digest"] != task.kb.digest:
                problems.append(f"papers {key} {split}: made with the knowledge base {predictions.source['kb']['digest']}")
            problems += [
                f"papers {key} {split}: {what}" for what in differences(row["figures"], judge(task, predictions).figures)
            ]
    return problems


def figures_of(rows: Rows, split: str) -> dict[str, dict[str, float]]:
    """Return the figures of a split; for AskAPatient, the means over its folds."""
    found = {key: rows[key][split]["figures"] for key in KEYS if split in rows.get(key, {})}
    shown = {
        key: {name: found[key][name] for name in (*_FIGURES, "low", "high", "mentions", "in_kb")}
        for key in KEYS[:2]
        if key in found
    }
    if folds := [found[key] for key in FOLD_KEYS if key in found]:
        means = {name: round(mean(fold[name] for fold in folds), 1) for name in _FIGURES}
        lowest, highest = (choose(fold["any_id_r1"] for fold in folds) for choose in (min, max))
        shown[ASKAPATIENT] = means | {"lowest": lowest, "highest": highest, "folds": len(folds)}
    return shown


def page_with(rows: Rows, page: str) -> str:
    """Return the page with a table of the rows."""
    header = ("task", "split", "any-id R@1", "95 %, or folds", "strict R@1", "any-id R@5", "mentions in the KB", "ANGEL, 406 M")
    lines = [_line(key, split, figures) for split in ("dev", "test") for key, figures in figures_of(rows, split).items()]
    return between(page, "papers", table(header, sorted(lines, key=lambda line: list(PUBLISHED).index(line[0].strip("`")))))


def _line(key: str, split: str, figures: dict[str, float]) -> list[str]:
    low, high = (figures.get(name, figures.get(other, 0.0)) for name, other in (("low", "lowest"), ("high", "highest")))
    counts = f"{figures['in_kb']:,.0f} of {figures['mentions']:,.0f}" if "in_kb" in figures else f"{figures['folds']:.0f} folds"
    shares = [f"{figures[name]:.1f}" for name in _FIGURES]
    published = f"{PUBLISHED[key]:.1f}" if split == "test" else ""
    return [f"`{key}`", split, shares[0], f"{low:.1f}–{high:.1f}", *shares[1:], counts, published]
