"""Character 3-gram TF-IDF on BioSyn's own files and dictionaries, under BioSyn's protocol: recall at 1 and at 5."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.report import data_folder
from onym.datasets import Prepared, prepare
from onym.evaluate.evaluation import judged_cases
from onym.evaluate.metrics import score
from onym.evaluate.run import predict
from onym.kb import KnowledgeBase
from onym.linkers.tfidf import TfidfLinker

BENCHMARKS = {"ncbi_biosyn": "ncbi-disease-biosyn", "bc5cdr_disease_biosyn": "bc5cdr-disease-biosyn"}


def run(_options: argparse.Namespace) -> dict[str, object]:
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        for key, name in BENCHMARKS.items():
            prepared = prepare(name, data_folder(), Path(folder) / name)
            for k, recall in recalls(prepared).items():
                figures[f"{key}_r{k}"] = round(100 * recall, 1)
    return figures


def recalls(prepared: Prepared) -> dict[int, float]:
    kb = KnowledgeBase.open(prepared.folder / "kb")
    cases, _ = judged_cases(prepared, "test", predict(prepared, "test", TfidfLinker(kb)), kb)
    return score(cases, "biosyn", (1, 5)).recall
