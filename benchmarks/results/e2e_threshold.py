"""Choose on dev below which score an answer is none, and keep what a system then answers as rows of results/e2e.

    python -m benchmarks.results.e2e_threshold bc5cdr/granite-bc5cdr-spans+dense+minilm

The system has its rows on dev and test already, with the score of every answer: no model is asked again. The threshold is the
one with the best strict F1 on dev, and the rows have the key of the old ones and `+sure`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.results.e2e_judge import PROTOCOLS, documents_of, judge_found
from benchmarks.results.e2e_predict import STORE
from benchmarks.results.e2e_tasks import EndToEndTask, end_to_end_task
from benchmarks.results.store import Row, Store, file_of
from onym.evaluate.cases import Known
from onym.evaluate.end_to_end import score_end_to_end
from onym.predictions.file import Predictions

_TRIED = 200  # thresholds, each of them below as many answers as the last
_DIGITS = 4


def main(arguments: Sequence[str], store: Store = STORE) -> int:
    options = _parser().parse_args(arguments)
    rows = {row.row: row for row in store.rows()}
    keys = {"dev": f"{options.row}-on-dev", "test": options.row}
    if missing := [key for key in keys.values() if key not in rows]:
        sys.exit(f"there is no row {', '.join(missing)}: see python -m benchmarks.results.e2e_predict")
    tasks = {split: end_to_end_task(rows[key].benchmark, split) for split, key in keys.items()}
    threshold = best_threshold(tasks["dev"], store.predictions(rows[keys["dev"]]))
    for split, key in keys.items():
        predictions = sure(store.predictions(rows[key]), threshold)
        row = _row(rows[key], threshold, tasks[split], predictions)
        store.add(row, predictions)
        print(json.dumps({"row": row.row, "threshold": threshold, "figures": row.figures}))
    return 0


def best_threshold(task: EndToEndTask, predictions: Predictions) -> float:
    """Return the threshold with the best strict F1; of equal ones the lowest.

    Needs: the predictions of a system without a threshold.
    """
    scores = [one.answers[0][1] for one in predictions if one.answers] or [0.0]
    tried = sorted({round(float(each), _DIGITS) for each in np.quantile(scores, np.linspace(0, 1, _TRIED))})
    same = Known(task.kb).same

    def f1(threshold: float) -> float:
        found = documents_of(task.documents, sure(predictions, threshold))
        return score_end_to_end(task.documents, found, PROTOCOLS["strict"], same).f1

    return max(tried, key=f1)


def sure(predictions: Predictions, threshold: float) -> Predictions:
    """Return the predictions of a pipeline with that threshold: an answer below it is none.

    >>> from onym.predictions.file import Prediction
    >>> one, other = ((("mesh:D1",), 0.9, 0),), ((("mesh:D2",), 0.4, 1),)
    >>> made = Predictions.of([Prediction("1", 0, 2, one), Prediction("1", 3, 5, other)], {"threshold": None})
    >>> [len(each.answers) for each in sure(made, 0.5)], sure(made, 0.5).source
    ([1, 0], {'threshold': 0.5})
    """
    kept = (one if one.answers and one.answers[0][1] >= threshold else replace(one, answers=()) for one in predictions)
    return Predictions.of(kept, predictions.source | {"threshold": threshold})


def _row(row: Row, threshold: float, task: EndToEndTask, predictions: Predictions) -> Row:
    key = row.row.removesuffix("-on-dev") + "+sure" + ("-on-dev" if row.split == "dev" else "")
    return replace(
        row,
        row=key,
        stage=f"{row.stage}+sure",
        ranking=f"{row.ranking}, if sure",
        model_folder=json.dumps({**json.loads(row.model_folder), "threshold": threshold}, sort_keys=True),
        file=file_of(key),
        figures=judge_found(task, predictions),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.results.e2e_threshold",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("row", help="the key of the system's row on test")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
