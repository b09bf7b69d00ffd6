"""Measure recall@1 and recall@5 of character 3-gram TF-IDF on BioSyn's files, dictionaries and protocol."""

from __future__ import annotations

import argparse

from benchmarks.report import iter_prepared
from onym.datasets import PreparedDataset
from onym.evaluate.evaluation import make_cases
from onym.evaluate.metrics import score
from onym.evaluate.run import predict
from onym.evaluate.task import EvaluationTask
from onym.kb import KnowledgeBase
from onym.methods.tfidf import TfidfLinker

DATASETS = {"ncbi_biosyn": "ncbi-disease-biosyn", "bc5cdr_disease_biosyn": "bc5cdr-disease-biosyn"}


def run(_options: argparse.Namespace) -> dict[str, object]:
    figures: dict[str, object] = {}
    for key, prepared in iter_prepared(DATASETS):
        for k, recall in recalls(prepared).items():
            figures[f"{key}_r{k}"] = round(100 * recall, 1)
    return figures


def recalls(prepared: PreparedDataset) -> dict[int, float]:
    kb = KnowledgeBase.open(prepared.folder / "kb")
    task = EvaluationTask(prepared, "test", kb)
    cases = make_cases(task, predict(task, TfidfLinker(kb), bare=True))
    return score(cases, "biosyn", (1, 5)).recall
