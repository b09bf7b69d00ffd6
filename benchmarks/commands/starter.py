"""Measure the size, start-up time, accuracy and speed of the starter pipeline that comes with `pip install onym`.

wheel_mb, names, dependencies    size of the wheel, names in its knowledge base, and required packages without extras
first_answer_s                   CPU seconds of `onym link` on one abstract in a fresh process, minimum of three
strict_f1                        strict F1 (span and concept) of diseases in raw text, on the test splits of two corpora
precision_at_95, coverage_at_95  with `--precision 0.95`: share of right answers, and share of answers that remain
documents_per_s, memory_gb       BC5CDR abstracts (dev or test) per CPU second, and peak memory of this process
deterministic                    1 if two runs over the same documents give the same links

The corpora are annotated with MeSH, so a MONDO concept is replaced by the MeSH record it cross-references; a concept without
cross-reference counts as wrong. Use `--split dev` for development. `--quick` reads few documents and builds no wheel.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import requires

from benchmarks.fresh import fresh_environment
from benchmarks.report import data_folder
from onym.corpora.plain import with_answers
from onym.datasets.prepared import open_dataset
from onym.evaluate.end_to_end import EndToEndScores, score_end_to_end
from onym.kb import KnowledgeBase
from onym.packs import load
from onym.pipeline import Pipeline
from onym.types import Document, LinkedDocument

UPPER_BOUNDS = {"wheel_mb": 10.0}
FULL_BOUNDS = {"first_answer_s": 1.0}
LOWER_BOUNDS = {"deterministic": 1}
CORPORA = {"bc5cdr": "bc5cdr", "ncbi_disease": "ncbi-disease"}
_CHEMICAL, _MESH = "Chemical", "mesh:"
_QUICK = 40  # documents
_PRECISION = 0.95
_TURNS = 3


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pipeline", default="starter", help="measure this pipeline instead of the starter")
    parser.add_argument("--split", default="test", help="split to evaluate; use dev during development")
    parser.add_argument("--only-accuracy", action="store_true", help="do not build and install the wheel")


def run(options: argparse.Namespace) -> dict[str, object]:
    pipeline = load(options.pipeline)
    splits = {
        key: diseases_of(open_dataset(name, data=data_folder()).documents(options.split)) for key, name in CORPORA.items()
    }
    figures: dict[str, object] = {"names": len(pipeline.kb.names), "dependencies": _dependencies()}
    if not options.quick and not options.only_accuracy:
        figures |= _install(splits["bc5cdr"][0].text)
    figures |= _speed(pipeline, splits["bc5cdr"][: _QUICK if options.quick else None])
    is_same = True
    for key, whole in splits.items():
        docs = whole[:_QUICK] if options.quick else whole
        answers = _link_documents(pipeline, docs)
        is_same &= answers == _link_documents(load(options.pipeline), docs)
        figures[key] = _figures(pipeline, docs, answers)
    return figures | {"deterministic": int(is_same)}


def strict_f1_of(pipeline: str, key: str, split: str = "test") -> float:
    """Return the strict F1 of a pipeline on the diseases of a corpus."""
    loaded = load(pipeline)
    docs = diseases_of(open_dataset(CORPORA[key], data=data_folder()).documents(split))
    return round(100 * _score(loaded.kb, docs, _link_documents(loaded, docs)).f1, 1)


def _speed(pipeline: Pipeline, docs: Sequence[Document]) -> dict[str, object]:
    began = time.process_time()
    _link_documents(pipeline, docs)
    seconds = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"documents_per_s": round(len(docs) / seconds, 1), "memory_gb": round(memory, 2)}


def _figures(pipeline: Pipeline, docs: Sequence[Document], answers: Sequence[LinkedDocument]) -> dict[str, float]:
    score = _score(pipeline.kb, docs, answers)
    figures = {"strict_f1": score.f1, "strict_p": score.precision, "strict_r": score.recall}
    if pipeline.calibration is not None:
        confident = _link_documents(pipeline.with_precision(_PRECISION), docs)
        left = _count(confident) / max(1, _count(answers))
        figures |= {"precision_at_95": _score(pipeline.kb, docs, confident).precision, "coverage_at_95": left}
    return {name: round(100 * value, 1) for name, value in figures.items()} | {"documents": len(docs)}


def diseases_of(documents: object) -> list[Document]:
    """Return documents with their annotated diseases."""
    return [
        replace(doc, mentions=tuple(each for each in doc.mentions if each.type != _CHEMICAL))
        for doc in documents  # type: ignore[attr-defined]
    ]


def _link_documents(pipeline: Pipeline, docs: Sequence[Document]) -> list[LinkedDocument]:
    return list(pipeline.link_many(replace(doc, mentions=()) for doc in docs))


def _count(linked: Sequence[LinkedDocument]) -> int:
    return sum(link.concept_id is not None for each in linked for link in each.links)


def _score(kb: KnowledgeBase, gold: Sequence[Document], linked: Sequence[LinkedDocument]) -> EndToEndScores:
    @lru_cache(None)
    def canonical(concept_id: str) -> str:
        """Return the first MeSH record that a MONDO concept cross-references."""
        row = kb.concept_ids.find(concept_id)
        xrefs = [kb.xrefs[int(number)] for number in kb.concept_xrefs[row]] if row >= 0 else []
        return min((each for each in xrefs if each.startswith(_MESH)), default=concept_id)

    return score_end_to_end(gold, map(with_answers, linked), canonical=canonical)


def _dependencies() -> list[str]:
    """Return the required packages of Onym, without extras."""
    return sorted(each for each in requires("onym") or () if "extra ==" not in each)


def _install(text: str) -> dict[str, object]:
    """Install the wheel in a fresh environment, and time the first answer."""
    with fresh_environment() as fresh:
        seconds = [fresh.cpu_seconds(["onym", "link", text]) for _ in range(_TURNS + 1)]
        return {"wheel_mb": round(fresh.wheel.stat().st_size / 1e6, 1), "first_answer_s": round(min(seconds[1:]), 2)}
