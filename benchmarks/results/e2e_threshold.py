"""Tune the score threshold of a system on dev, and store its thresholded predictions as rows of results/e2e.

    python -m benchmarks.results.e2e_threshold bc5cdr/granite-bc5cdr-spans+dense+minilm

The system must already have rows on dev and test; no model is run. The threshold is the one with the best strict F1 on dev.
The new rows have the old key plus `+threshold`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.results.e2e_predict import STORE, task_of
from benchmarks.results.e2e_tasks import judge_found
from benchmarks.results.store import Figures, Row, Store, file_of
from onym.evaluate.cases import ConceptResolver
from onym.evaluate.tuning import above_threshold, tune_threshold

THRESHOLD = "+threshold"


def main(arguments: Sequence[str], store: Store = STORE) -> int:
    options = _parser().parse_args(arguments)
    rows = {row.row: row for row in store.rows()}
    keys = {"dev": f"{options.row}-on-dev", "test": options.row}
    if missing := [key for key in keys.values() if key not in rows]:
        sys.exit(f"there is no row {', '.join(missing)}: see python -m benchmarks.results.e2e_predict")
    tasks = {split: task_of(rows[key]) for split, key in keys.items()}
    dev = tasks["dev"]
    canonical = ConceptResolver(dev.kb).canonical
    threshold = tune_threshold(dev.documents, store.predictions(rows[keys["dev"]]), canonical).threshold
    for split, key in keys.items():
        predictions = above_threshold(store.predictions(rows[key]), threshold)
        row = derive_row(rows[key], "threshold", threshold, judge_found(tasks[split], predictions))
        store.add(row, predictions)
        print(json.dumps({"row": row.row, "threshold": threshold, "figures": row.figures}))
    return 0


def derive_row(row: Row, what: str, least: float, figures: Figures) -> Row:
    """Return a copy of a row for the same system with a score or confidence threshold."""
    key = f"{row.row.removesuffix('-on-dev')}+{what}{'-on-dev' if row.split == 'dev' else ''}"
    return replace(
        row,
        row=key,
        stage=f"{row.stage}+{what}",
        ranking=f"{row.ranking}, above {what}",
        model_folder=json.dumps({**json.loads(row.model_folder), what: least}, sort_keys=True),
        file=file_of(key),
        figures=figures,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.results.e2e_threshold",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("row", help="key of the system's row on test")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
