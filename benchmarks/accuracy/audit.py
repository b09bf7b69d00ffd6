"""Simulate audits of stored predictions whose errors are known: coverage of the intervals, and labels against random sampling.

Mentions are found in raw text by the best system of `e2e-results`, and linked over the open, joined knowledge base. Confidences
are those of a calibration fitted on the dev split of the corpus, and audits are drawn from its test split; nothing of a test
split was used to choose a constant. `nlm_chem` has no dev split: it has the confidences of BC5CDR, which are too high there.
The population are the links at or above the confidence with the best strict F1 on dev, as the pipeline would give them
(`above_threshold`), and all links (`all`). Each audit draws its own links and documents.

links, documents         links and documents in the population, N
labels                   links that each audit labels for a margin of 0.03, n
precision, recall        of the population, which the audits estimate
precision_coverage_pct   share of audits whose 95 % interval holds the precision
recall_coverage_pct      the same for recall
margin                   mean half width of the intervals of precision
label_ratio              labels, divided by those of a simple random sample with the same margin
label_ratio_strata       the same for the stratified mean alone, without the probabilities
by_type_coverage_pct     as precision_coverage_pct, for each type with 30 labels or more
documents_read           documents that each audit reads for a margin of recall of 0.05
recall_margin            mean half width of the intervals of recall

`mean_error` is the largest absolute error of the mean estimate of precision. `ppi_error` is the largest difference from
ppi-python (lambda 1, no strata) over 20 random samples; it is left out if that is not installed. `--quick` draws 300 audits of
NCBI disease.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.results.e2e_confidence import CONFIDENCE, judge_row
from benchmarks.results.e2e_predict import STORE, task_of
from benchmarks.results.e2e_tasks import KINDS
from benchmarks.results.store import Row, Store
from onym.outputs.predictions import DocumentNames
from onym.review.estimation import Frame, LabelSums, estimate_precision, estimate_recall
from onym.review.report import MIN_LABELS_OF_TYPE
from onym.review.sampling import EXPECTED_RECALL, Strata, allocate, documents_to_read, labels_at_random, stratify

SYSTEMS = {
    "bc5cdr": "bc5cdr/joined+granite-three-spans+bc5cdr+rerank+rerank-open",
    "ncbi_disease": "ncbi_disease/joined+granite-three-spans+ncbi-disease+rerank+rerank-open",
    "biored": "biored/joined+granite-three-spans+biored+rerank+rerank-open",
    "nlm_chem": "nlm_chem/joined+granite-three-spans+bc5cdr+rerank+rerank-open",
}
QUICK = "ncbi_disease"
MARGIN, RECALL_MARGIN = 0.03, 0.05
AUDITS, QUICK_AUDITS = 10_000, 300
_BLOCK = 250  # audits to draw at a time
UPPER_BOUNDS = MappingProxyType({"ppi_error": 1e-9})

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Population:
    """Links with confidence, type and document number, whether they are right, and the gold mentions of each document."""

    confidences: Floats
    types: list[str]
    right: Floats
    documents: npt.NDArray[np.int64]
    gold: Floats

    def above(self, threshold: float) -> Population:
        """Return the population of the links at or above a confidence."""
        kept = np.flatnonzero(self.confidences >= threshold)
        types = [self.types[row] for row in kept.tolist()]
        return Population(self.confidences[kept], types, self.right[kept], self.documents[kept], self.gold)


def run(options: argparse.Namespace) -> dict[str, Any]:
    audits = QUICK_AUDITS if options.quick else AUDITS
    corpora = {key: _measure(key, audits) for key in ([QUICK] if options.quick else SYSTEMS)}
    errors = [figures.pop("_error") for each in corpora.values() for figures in each.values()]
    worst = compare_with_ppi()
    compared = {} if worst is None else {"ppi_error": worst}
    return {"audits": audits, "corpora": corpora, "mean_error": round(max(errors), 5), **compared}


def _measure(key: str, audits: int) -> dict[str, dict[str, Any]]:
    everything, threshold = read_population(key)
    return {
        "above_threshold": simulate(everything.above(threshold), audits),
        "all": simulate(everything, audits),
    }


def read_population(key: str, store: Store = STORE) -> tuple[Population, float]:
    """Return all links of a corpus, and the confidence from which its pipeline answers."""
    rows = {row.row: row for row in store.rows()}
    row = rows[SYSTEMS[key]]
    fitted_on = rows[f"{SYSTEMS[KINDS[key].dev_corpus or key]}-on-dev"]
    judged, calibration = judge_row(store, row), judge_row(store, fitted_on).fit()
    task = task_of(row)
    names = DocumentNames.of_documents(task.documents)
    numbers = {names.of(doc.key): number for number, doc in enumerate(task.documents)}
    population = Population(
        confidences=calibration.confidences(judged.answers),
        types=_types(store, row, list(judged.keys)),
        right=np.array([rank == 1 for rank in judged.ranks], dtype=np.float64),
        documents=np.array([numbers[found[0]] for found in judged.keys], dtype=np.int64),
        gold=np.array([len(doc.mentions) for doc in task.documents], dtype=np.float64),
    )
    threshold = store.predictions(rows[SYSTEMS[key] + CONFIDENCE]).source["threshold"]
    return population, float(threshold)


def _types(store: Store, row: Row, keys: list[Any]) -> list[str]:
    """Return the semantic group of each linked concept, the type that a user's links have."""
    task, predictions = task_of(row), store.predictions(row)
    names = DocumentNames.of_documents(task.documents)
    found = {own: predictions.mentions[key] for key, own in predictions.keys_to(names).items()}
    return [task.kb.label_of(task.kb.concept_ids.find(found[key].answers[0][0][0]))[1] for key in keys]


def simulate(population: Population, audits: int) -> dict[str, Any]:
    """Draw audits, and return how often their intervals hold the truth, and how many labels they save."""
    rng = np.random.default_rng(0)
    strata = stratify(population.confidences, population.types)
    labels = allocate(strata, MARGIN)
    sums, frame = draw_labels(strata, population.right, labels, audits, rng), Frame.of(strata)
    found, plain = estimate_precision(frame, sums), estimate_precision(frame, sums, weight=0.0)
    count, links = int(labels.sum()), len(population.right)
    precision = float(population.right.mean())
    figures = {
        "links": links,
        "labels": count,
        "precision": round(precision, 4),
        "precision_coverage_pct": _share_inside(found.low, found.high, precision),
        "margin": round(float(found.margin.mean()), 4),
        "label_ratio": round(count / labels_at_random(precision, links, float(found.margin.mean())), 3),
        "label_ratio_strata": round(count / labels_at_random(precision, links, float(plain.margin.mean())), 3),
        "by_type_coverage_pct": _by_type(strata, population.right, sums),
        "_error": abs(float(found.value.mean()) - precision),
    }
    return figures | _simulate_recall(population, audits, rng)


def _by_type(strata: Strata, right: Floats, sums: LabelSums) -> dict[str, float]:
    found = {}
    for kind in dict.fromkeys(strata.types):
        own = np.array([number for number, each in enumerate(strata.types) if each == kind])
        if sums.labels[0, own].sum() < MIN_LABELS_OF_TYPE:
            continue
        estimates = estimate_precision(Frame.of(strata).part(own), sums.part(own))
        truth = float(right[np.isin(strata.stratum, own)].mean())
        found[kind] = _share_inside(estimates.low, estimates.high, truth)
    return found


def draw_labels(
    strata: Strata, right: Floats, labels: npt.NDArray[np.int64], audits: int, rng: np.random.Generator
) -> LabelSums:
    """Draw the labels of many audits, and return their sums, with the audit as first axis."""
    sums = np.zeros((4, audits, len(labels)))
    for number, count in enumerate(labels.tolist()):
        rows = np.flatnonzero(strata.stratum == number)
        values = np.stack([right[rows], strata.probabilities[rows]])
        for start in range(0, audits, _BLOCK):
            block = min(_BLOCK, audits - start)
            outcome, likely = values[:, draw_rows(len(rows), count, block, rng)]
            parts = (outcome, likely, likely**2, likely * outcome)
            sums[:, start : start + block, number] = [part.sum(axis=1) for part in parts]
    return LabelSums(np.broadcast_to(labels.astype(np.float64), sums.shape[1:]), *sums)


def draw_rows(total: int, count: int, audits: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return an array (audits, count) of rows, drawn without replacement."""
    if count >= total:
        return np.tile(np.arange(total), (audits, 1))
    keys = rng.random((audits, total), dtype=np.float32)
    return np.argpartition(keys, count - 1, axis=1)[:, :count].astype(np.int64)


def _simulate_recall(population: Population, audits: int, rng: np.random.Generator) -> dict[str, Any]:
    total = len(population.gold)
    found = np.bincount(population.documents, population.right, total).astype(np.float64)
    expected = float(population.confidences.sum()) / EXPECTED_RECALL
    count = documents_to_read(total, expected, RECALL_MARGIN)
    low, high = np.zeros(audits), np.zeros(audits)
    for start in range(0, audits, _BLOCK):
        block = slice(start, min(start + _BLOCK, audits))
        rows = draw_rows(total, count, block.stop - start, rng)
        estimates = estimate_recall(found[rows], population.gold[rows], total)
        low[block], high[block] = estimates.low, estimates.high
    recall = float(found.sum() / population.gold.sum())
    return {
        "documents": total,
        "documents_read": count,
        "recall": round(recall, 4),
        "recall_coverage_pct": _share_inside(low, high, recall),
        "recall_margin": round(float((high - low).mean() / 2), 4),
    }


def _share_inside(low: Floats, high: Floats, truth: float) -> float:
    return round(100 * float(((low <= truth) & (truth <= high)).mean()), 2)


def compare_with_ppi() -> float | None:
    """Return the largest difference of the point estimate from that of ppi-python; None if it is not installed."""
    if find_spec("ppi_py") is None:
        return None
    from ppi_py import ppi_mean_pointestimate

    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(20):
        likely = rng.beta(4, 1, 1_000)
        right = (rng.random(1_000) < likely).astype(np.float64)
        strata = Strata(np.zeros(1_000, dtype=np.int64), likely, ("",))
        rows = rng.choice(1_000, 80, replace=False)
        own = estimate_precision(Frame.of(strata), LabelSums.of(strata, rows, right[rows]), weight=1.0)
        theirs = float(ppi_mean_pointestimate(right[rows], likely[rows], likely, lam=1)[0])
        worst = max(worst, abs(float(own.value) - theirs))
    return worst
