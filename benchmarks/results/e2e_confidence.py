"""Calibrate the answers of a system on dev, drop answers of low confidence, and store the remaining answers as rows.

    python -m benchmarks.results.e2e_confidence bc5cdr/joined+granite-three-spans+bc5cdr+rerank+rerank-open

A confidence is the probability that span and concept are both right. The system must already have rows on dev and test; no
model is run. Dev confidences come from 5-fold cross-validation over documents, test confidences from a calibration fitted on
all of dev. The threshold is the confidence with the best strict F1 on dev. The new rows have the old key plus `+confidence`,
with confidences as scores. NLM-Chem has no dev split; it uses the calibration and threshold of `--fitted-on`, a row on another
corpus.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.report import data_folder
from benchmarks.results.e2e_predict import STORE, task_of
from benchmarks.results.e2e_tasks import KINDS, EndToEndTask, judge_found
from benchmarks.results.e2e_threshold import derive_row
from benchmarks.results.store import Row, Store, shorten_scores
from onym.calibrate import Calibration
from onym.calibrate.calibration import FOLDS
from onym.calibrate.estimators import Floats
from onym.datasets.prepared import open_dataset
from onym.evaluate.cases import ConceptResolver
from onym.evaluate.task import EvaluationTask
from onym.evaluate.tuning import JudgedAnswers, above_threshold, judge_answers, tune_threshold
from onym.outputs.predictions import DocumentNames, Key, Prediction, Predictions

CONFIDENCE = "+confidence"


def main(arguments: Sequence[str], store: Store = STORE) -> int:
    options = _parser().parse_args(arguments)
    rows = {row.row: row for row in store.rows()}
    fitted_on = f"{options.fitted_on or options.row}-on-dev"
    if missing := [key for key in (fitted_on, options.row) if key not in rows]:
        sys.exit(f"there is no row {', '.join(missing)}: see python -m benchmarks.results.e2e_predict")
    dev, judged = task_of(rows[fitted_on]), judge_row(store, rows[fitted_on])
    unseen = score_by(dev, store.predictions(rows[fitted_on]), judged, cross_validate(judged))
    threshold = tune_threshold(dev.documents, unseen, ConceptResolver(dev.kb).canonical).threshold
    if not options.fitted_on:
        _keep(store, rows[fitted_on], dev, unseen, threshold)
    row = rows[options.row]
    task, found = task_of(row), judge_row(store, row)
    scored = score_by(task, store.predictions(row), found, judged.fit().confidences(found.answers))
    _keep(store, row, task, scored, threshold)
    return 0


def judge_row(store: Store, row: Row) -> JudgedAnswers:
    """Score all mentions that a system found; a mention that is not in gold is wrong."""
    task = task_of(row)
    of_split = EvaluationTask(open_dataset(KINDS[row.dataset].dataset, data_folder()), row.split, task.kb)
    return judge_answers(of_split, list(task.documents), store.predictions(row), "found")


def cross_validate(judged: JudgedAnswers) -> Floats:
    """Return cross-validated confidences: each from a calibration fitted on the other folds of documents."""
    confidences = np.zeros(len(judged.ranks))
    for is_out, fitted in folds_of(judged):
        confidences[is_out] = fitted.confidences(judged.answers.part(is_out))
    return confidences


def folds_of(judged: JudgedAnswers) -> list[tuple[np.ndarray, Calibration]]:
    """Return, per fold of documents, a mask of its answers and a calibration fitted on the other folds."""
    numbers = {doc: number for number, doc in enumerate(dict.fromkeys(judged.documents))}
    folds = np.array([numbers[doc] % FOLDS for doc in judged.documents])
    return [(folds == fold, part_of(judged, folds != fold).fit()) for fold in range(FOLDS)]


def part_of(judged: JudgedAnswers, rows: np.ndarray) -> JudgedAnswers:
    """Return a subset of the answers."""
    kept = np.flatnonzero(rows).tolist()
    lists = ([values[row] for row in kept] for values in (judged.ranks, judged.documents, judged.types))
    return JudgedAnswers(judged.answers.part(rows), *lists)  # type: ignore[arg-type]


def score_by(task: EndToEndTask, predictions: Predictions, judged: JudgedAnswers, confidences: Floats) -> Predictions:
    """Return only the best answer of each mention, with its confidence as score."""
    by_key: dict[Key, float] = dict(zip(judged.keys, confidences.tolist(), strict=True))
    named = predictions.keys_to(DocumentNames.of_documents(task.documents))
    lines = (_score_prediction(one, by_key.get(named[key])) for key, one in predictions.mentions.items())
    return Predictions.of(shorten_scores(lines), predictions.source)


def _score_prediction(one: Prediction, confidence: float | None) -> Prediction:
    if confidence is None:
        return replace(one, answers=())
    concept_ids, _, name = one.answers[0]
    return replace(one, answers=((concept_ids, confidence, name),))


def _keep(store: Store, row: Row, task: EndToEndTask, scored: Predictions, threshold: float) -> None:
    predictions = above_threshold(scored, threshold)
    made = derive_row(row, "confidence", threshold, judge_found(task, predictions))
    store.add(made, predictions)
    print(json.dumps({"row": made.row, "confidence": threshold, "figures": made.figures}))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.results.e2e_confidence",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("row", help="key of the system's row on test")
    parser.add_argument("--fitted-on", default="", help="key of a test row on another corpus that also has a dev row")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
