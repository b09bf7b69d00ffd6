"""Measure the quality of confidences from stored predictions: fit a calibration on dev, and evaluate it on test.

corpora          figures by corpus. Gold mentions are linked by the reranker over the open, joined knowledge base (hpo_gsc: by
                 off-the-shelf MiniLM over HPO). nlm_chem has no dev split; it uses a calibration fitted on the dev splits of
                 the other three corpora
cross_validated  figures of the corpora without a dev split or with a small one, by 5-fold cross-validation over test documents
transfer         figures of a calibration that is fitted on dev of one corpus and evaluated on test of another

These figures are:

ece              expected calibration error, 15 equal-count bins
auroc            the probability that a right answer has a higher confidence than a wrong one
precision_at_95  precision of the answers that remain at a target precision of 0.95
coverage_at_95   percentage of mentions that still have an answer at this target
set_coverage_at_90, set_size_at_90
                 candidate sets with 90 % target coverage: how often they contain the right concept (percent), and mean size
drift            population stability index of the confidences on test, compared with those on dev

Answers are scored by the strict protocol; a mention whose gold ids are not in the knowledge base counts as wrong. `--quick`
uses only ncbi_disease and hpo_gsc.

`--from-text` uses the mentions that the best system of `e2e-results` finds in raw text. A confidence then covers span and
concept, and percentages refer to the detected mentions. `gold_found_at_95` is the percentage of gold mentions with a right
answer at a target precision of 0.95. A calibration is fitted on the dev split of its corpus, for nlm_chem on dev of bc5cdr.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.results.check import page_problems
from benchmarks.results.e2e_confidence import CONFIDENCE, folds_of, judge_row
from benchmarks.results.e2e_predict import STORE
from benchmarks.results.e2e_results import best
from benchmarks.results.e2e_tasks import KINDS
from benchmarks.results.e2e_threshold import THRESHOLD
from benchmarks.results.rerank_rows import TYPES, file_of, open_of_types
from benchmarks.results.store import FOLDER, Row, Store, between, table
from benchmarks.results.tasks import hpo_kb, open_kb_joined, open_task
from onym.calibrate import Answers, Calibration, area_under_roc, expected_calibration_error
from onym.evaluate.task import EvaluationTask
from onym.evaluate.tuning import JudgedAnswers, judge_answers
from onym.outputs.predictions import read_predictions

CORPORA = {"ncbi_disease": "ncbi-disease", "bc5cdr": "bc5cdr", "biored": "biored", "nlm_chem": "nlm-chem"}
HPO = "hpo_gsc"
WITH_DEV = ("ncbi_disease", "bc5cdr", "biored")
QUICK = ("ncbi_disease", HPO)
PRECISION, COVERAGE = 0.95, 0.9
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "confidence.md"

Figures = dict[str, float]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write", action="store_true", help="write the tables of the results page")
    parser.add_argument("--from-text", action="store_true", help="use mentions detected in raw text instead of gold mentions")


def run(options: argparse.Namespace) -> dict[str, object]:
    if options.from_text:
        return from_text(quick=options.quick, is_written=options.write)
    keys = QUICK if options.quick else (*CORPORA, HPO)
    found: dict[str, dict[str, Figures]] = {"corpora": {key: _on_test(key) for key in keys}}
    if not options.quick:
        found["cross_validated"] = {key: _cross_validate(answers_of(key, "test")) for key in ("nlm_chem", HPO)}
        pairs = [(first, second) for first in WITH_DEV for second in CORPORA if first != second]
        found["transfer"] = {f"{first}_to_{second}": _judge(_fit(first), answers_of(second, "test")) for first, second in pairs}
        problems = page_problems("confidence", lambda page: _page(page, found), is_written=options.write, path=PAGE)
        if problems:
            sys.exit("\n".join(problems))
    return {**found}


@cache
def answers_of(key: str, split: str) -> JudgedAnswers:
    """Score the stored answers of a split."""
    if key == HPO:
        own = open_task(HPO, split)
        task = EvaluationTask(own.dataset, split, hpo_kb())
        path = FOLDER / "dense" / f"hpo_gsc.start.flat-own{'-on-dev' if split == 'dev' else ''}.jsonl.gz"
    else:
        name = CORPORA[key]
        task, path = EvaluationTask(open_of_types(name, TYPES[name]), split, open_kb_joined()), file_of(name, split)
    predictions = read_predictions(path)
    task.require_same_kb(predictions.source)
    return judge_answers(task, list(task.dataset.documents(split)), predictions, "given")


@cache
def _fit(*keys: str) -> Calibration:
    return _join_answers([answers_of(key, "dev") for key in keys]).fit()


def from_text(store: Store = STORE, *, quick: bool = False, is_written: bool = False) -> dict[str, object]:
    """Return the figures on raw text of the systems that are best on dev."""
    rows = {row.row: row for row in store.rows()}
    first = {key: row.row.removesuffix(CONFIDENCE).removesuffix(THRESHOLD) for key, row in best(list(rows.values())).items()}
    found: dict[str, Figures] = {}
    for key, name in first.items():
        if not quick or key == QUICK[0]:
            own = rows.get(f"{name}-on-dev") or rows[f"{first[KINDS[key].dev_corpus]}-on-dev"]
            judged, fitted = judge_row(store, rows[name]), judge_row(store, own).fit()
            found[key] = _judge(fitted, judged) | _judge_gold_mentions(rows[name], judged, fitted)
    if not quick:
        problems = page_problems("confidence", lambda page: _from_text_page(page, found), is_written=is_written, path=PAGE)
        if problems:
            sys.exit("\n".join(problems))
    return {"from_text": found, "systems": {key: first[key] for key in found}}


def _judge_gold_mentions(row: Row, judged: JudgedAnswers, fitted: Calibration) -> Figures:
    is_confident = fitted.confidences(judged.answers) >= fitted.curve.at(PRECISION).threshold
    right = sum(rank == 1 for rank, is_kept in zip(judged.ranks, is_confident, strict=True) if is_kept)
    gold = int(row.figures["gold"])
    return {"gold": gold, "gold_found_at_95": round(100 * right / gold, 1)}


def _on_test(key: str) -> Figures:
    fitted = _fit(*(WITH_DEV if key == "nlm_chem" else (key,)))
    return _judge(fitted, answers_of(key, "test"))


def _judge(fitted: Calibration, judged: JudgedAnswers) -> Figures:
    """Return the figures of answers under a calibration."""
    return _figures(judged, fitted.confidences(judged.answers), [fitted] * len(judged.ranks))


def _cross_validate(judged: JudgedAnswers) -> Figures:
    """Return cross-validated figures: each answer is calibrated on the other folds of documents."""
    confidences, fitted = np.zeros(len(judged.ranks)), np.empty(len(judged.ranks), dtype=object)
    for is_out, each in folds_of(judged):
        confidences[is_out], fitted[is_out] = each.confidences(judged.answers.part(is_out)), each
    return _figures(judged, confidences, fitted.tolist())


def _figures(judged: JudgedAnswers, confidences: np.ndarray, fitted: Sequence[Calibration]) -> Figures:
    right = np.array([rank == 1 for rank in judged.ranks])
    all_of = len(right) + judged.unanswered
    is_confident = confidences >= np.array([each.curve.at(PRECISION).threshold for each in fitted])
    sizes = [
        each.sets.size(COVERAGE, confidence=confidence, candidates=5, of_type=of_type)
        for each, confidence, of_type in zip(fitted, confidences.tolist(), judged.types, strict=True)
    ]
    covered = sum(rank is not None and rank <= size for rank, size in zip(judged.ranks, sizes, strict=True))
    return {
        "mentions": all_of,
        "right_pct": round(100 * float(right.sum()) / all_of, 1),
        "ece": round(expected_calibration_error(confidences, right), 4),
        "auroc": round(area_under_roc(confidences, right), 4),
        "precision_at_95": round(float(right[is_confident].mean()), 4) if is_confident.any() else 0.0,
        "coverage_at_95": round(100 * float(is_confident.sum()) / all_of, 1),
        "set_coverage_at_90": round(100 * covered / all_of, 1),
        "set_size_at_90": round(float(np.mean(sizes)), 2),
        "ceiling": round(100 * sum(rank is not None for rank in judged.ranks) / all_of, 1),
        "drift": round(fitted[0].spread.index(confidences), 3),
    }


def _join_answers(parts: Sequence[JudgedAnswers]) -> JudgedAnswers:
    return JudgedAnswers(
        Answers(np.concatenate([part.answers.columns for part in parts])),
        [rank for part in parts for rank in part.ranks],
        [f"{number}:{doc}" for number, part in enumerate(parts) for doc in part.documents],
        [of_type for part in parts for of_type in part.types],
        sum(part.unanswered for part in parts),
    )


def _page(page: str, found: dict[str, dict[str, Figures]]) -> str:
    header = (
        "fitted on",
        "judged on",
        "right",
        "ECE",
        "AUROC",
        "precision at 0.95",
        "answered",
        "set holds it",
        "set size",
        "drift",
    )
    own = {"nlm_chem": "dev of the other three"}
    lines = [_line(own.get(key, "dev"), f"`{key}` test", each) for key, each in found["corpora"].items()]
    lines += [_line("other folds of test", f"`{key}` test", each) for key, each in found["cross_validated"].items()]
    for key, each in found["transfer"].items():
        first, _, second = key.partition("_to_")
        lines.append(_line(f"`{first}` dev", f"`{second}` test", each))
    return between(page, "confidence", table(header, lines))


def _from_text_page(page: str, found: dict[str, Figures]) -> str:
    header = ("judged on", "mentions found", "right", "ECE", "AUROC", "precision at 0.95", "answered", "gold found at 0.95")
    lines = [
        [
            f"`{key}` test",
            f"{each['mentions']:,}",
            f"{each['right_pct']:.1f} %",
            *(f"{each[name]:.3f}" for name in ("ece", "auroc", "precision_at_95")),
            *(f"{each[name]:.1f} %" for name in ("coverage_at_95", "gold_found_at_95")),
        ]
        for key, each in found.items()
    ]
    return between(page, "confidence-from-text", table(header, lines))


def _line(fitted: str, judged: str, figures: Figures) -> list[str]:
    shares = [f"{figures[name]:.3f}" for name in ("ece", "auroc", "precision_at_95")]
    sets = [f"{figures['set_coverage_at_90']:.1f} %", f"{figures['set_size_at_90']:.2f}", f"{figures['drift']:.2f}"]
    return [fitted, judged, f"{figures['right_pct']:.1f} %", *shares, f"{figures['coverage_at_95']:.1f} %", *sets]
