"""Measure the size, start-up time, accuracy and speed of the starter pipeline that comes with `pip install onym`.

wheel_mb, names, dependencies    size of the wheel, names in its knowledge base, and required packages without extras
first_answer_s                   CPU seconds of `onym link` on a sentence in a fresh process, median of the rounds
documents_per_s                  PubMed citations with an abstract per CPU second, from text to links
bc5cdr_documents_per_s           abstracts of BC5CDR per CPU second
memory_gb                        peak memory of this process after both
strict_f1, strict_p, strict_r    span and concept of diseases and chemicals in raw text, all annotated mentions counted
ece                              expected calibration error of all answers
precision_at_95, coverage_at_95  with `--precision 0.95`: share of right answers, and share of answers that remain
precision_low, precision_high    95 % interval (Wilson) of precision_at_95
deterministic                    1 if two runs over the same documents give the same links

Only answers of the annotated semantic groups count: diseases and chemicals, on NCBI disease diseases only. MeSH is preferred,
since the corpora are annotated with it. Use `--split dev`
for development. `--quick` reads few documents and builds no wheel.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import requires
from itertools import islice
from math import sqrt
from statistics import median

import numpy as np

from benchmarks.commands.link_speed import abstracts
from benchmarks.fresh import fresh_environment
from benchmarks.report import data_folder
from onym.calibrate.estimators import expected_calibration_error
from onym.corpora.plain import with_answers
from onym.datasets.prepared import open_dataset
from onym.evaluate.cases import ConceptResolver
from onym.evaluate.end_to_end import EndToEndScores, score_end_to_end
from onym.packs import load
from onym.pipeline import Pipeline
from onym.types import Document, LinkedDocument

UPPER_BOUNDS = {"wheel_mb": 30.0}
FULL_BOUNDS = {"memory_gb": 0.5}
LOWER_BOUNDS = {"deterministic": 1}
_QUICK = 40  # documents
_PREFER = ("mesh",)  # the vocabulary that the corpora are annotated with
_CITATIONS = 2_000
_PRECISION = 0.95
_ROUNDS = 5
_NORMAL = 1.96  # quantile of the 95 % interval


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus, the semantic groups that it annotates, and its annotated types of these groups (empty: all)."""

    dataset: str
    groups: tuple[str, ...]
    types: tuple[str, ...] = ()


CORPORA = {
    "bc5cdr": Corpus("bc5cdr", ("Disease", "Chemical")),
    "ncbi_disease": Corpus("ncbi-disease", ("Disease",)),
    "biored": Corpus("biored", ("Disease", "Chemical"), ("Disease", "Chemical")),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pipeline", default="starter", help="measure this pipeline instead of the starter")
    parser.add_argument("--split", default="test", help="split to evaluate; use dev during development")
    parser.add_argument("--only-accuracy", action="store_true", help="measure neither size nor speed")


def run(options: argparse.Namespace) -> dict[str, object]:
    pipeline = load(options.pipeline, prefer=_PREFER)
    figures: dict[str, object] = {"names": len(pipeline.kb.names), "dependencies": _dependencies()}
    if not options.only_accuracy:
        figures |= _speed(pipeline, options.split, is_quick=options.quick)
    if not options.quick and not options.only_accuracy:
        figures |= _measure_wheel()
    is_same = True
    for key, corpus in CORPORA.items():
        docs = documents_of(corpus, options.split)[: _QUICK if options.quick else None]
        answers = _link_documents(pipeline, docs, corpus)
        is_same &= answers == _link_documents(load(options.pipeline, prefer=_PREFER), docs, corpus)
        figures[key] = _figures(pipeline, docs, answers, corpus)
    return figures | {"deterministic": int(is_same)}


def documents_of(corpus: Corpus, split: str) -> list[Document]:
    """Return the documents of a split with the annotated mentions that count."""
    return [
        replace(doc, mentions=tuple(each for each in doc.mentions if not corpus.types or each.type in corpus.types))
        for doc in open_dataset(corpus.dataset, data=data_folder()).documents(split)
    ]


def strict_f1_of(pipeline: str, key: str, split: str = "test") -> float:
    """Return the strict F1 of a pipeline on a corpus, in percent."""
    loaded, corpus = load(pipeline, prefer=_PREFER), CORPORA[key]
    docs = documents_of(corpus, split)
    return round(100 * _score(loaded, docs, _link_documents(loaded, docs, corpus)).f1, 1)


def _speed(pipeline: Pipeline, split: str, *, is_quick: bool) -> dict[str, object]:
    citations = list(islice(abstracts(), _QUICK if is_quick else _CITATIONS))
    own = documents_of(CORPORA["bc5cdr"], split)[: _QUICK if is_quick else None]
    figures: dict[str, object] = {"documents_per_s": _documents_per_s(pipeline, citations)}
    figures["bc5cdr_documents_per_s"] = _documents_per_s(pipeline, own)
    return figures | {"memory_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2)}


def _documents_per_s(pipeline: Pipeline, docs: Sequence[Document]) -> float:
    began = time.process_time()
    for _ in pipeline.link_many(replace(doc, mentions=()) for doc in docs):
        pass
    return round(len(docs) / (time.process_time() - began), 1)


def _figures(
    pipeline: Pipeline, docs: Sequence[Document], answers: Sequence[LinkedDocument], corpus: Corpus
) -> dict[str, float]:
    score = _score(pipeline, docs, answers)
    figures = {"strict_f1": score.f1, "strict_p": score.precision, "strict_r": score.recall}
    if pipeline.calibration is not None:
        confident = _link_documents(pipeline.with_precision(_PRECISION), docs, corpus)
        at_95, count = _score(pipeline, docs, confident).precision, _count(confident)
        low, high = _interval(at_95, count)
        figures |= {"ece": _calibration_error(pipeline, docs, answers), "precision_at_95": at_95}
        figures |= {"precision_low": low, "precision_high": high, "coverage_at_95": count / max(1, _count(answers))}
    return {name: round(100 * value, 1) for name, value in figures.items()} | {"documents": len(docs)}


def _calibration_error(pipeline: Pipeline, docs: Sequence[Document], answers: Sequence[LinkedDocument]) -> float:
    canonical = ConceptResolver(pipeline.kb).canonical
    confidences, outcomes = [], []
    for doc, linked in zip(docs, answers, strict=True):
        gold = {(each.start, each.end, canonical(one)) for each in doc.mentions for one in each.concept_ids}
        for link in linked.links:
            if link.concept_id is not None and link.confidence is not None:
                confidences.append(link.confidence)
                outcomes.append((link.mention.start, link.mention.end, canonical(link.concept_id)) in gold)
    return expected_calibration_error(np.array(confidences), np.array(outcomes))


def _interval(share: float, count: int) -> tuple[float, float]:
    """Return the Wilson interval of a share of `count` answers."""
    if not count:
        return 0.0, 1.0
    square = _NORMAL**2 / count
    half = _NORMAL * sqrt(share * (1 - share) / count + square / (4 * count))
    return (share + square / 2 - half) / (1 + square), (share + square / 2 + half) / (1 + square)


def _link_documents(pipeline: Pipeline, docs: Sequence[Document], corpus: Corpus) -> list[LinkedDocument]:
    of_groups = pipeline.with_types(corpus.groups)
    return list(of_groups.link_many(replace(doc, mentions=()) for doc in docs))


def _count(linked: Sequence[LinkedDocument]) -> int:
    return sum(link.concept_id is not None for each in linked for link in each.links)


def _score(pipeline: Pipeline, gold: Sequence[Document], linked: Sequence[LinkedDocument]) -> EndToEndScores:
    return score_end_to_end(gold, map(with_answers, linked), canonical=ConceptResolver(pipeline.kb).canonical)


def _dependencies() -> list[str]:
    """Return the required packages of Onym, without extras."""
    return sorted(each for each in requires("onym") or () if "extra ==" not in each)


def _measure_wheel() -> dict[str, float]:
    """Install the wheel in a fresh environment, and return its size and the time of linking a text there."""
    with fresh_environment() as fresh:
        _, *seconds = [fresh.cpu_seconds(["onym", "link", "Patients with asthma and diabetes"]) for _ in range(1 + _ROUNDS)]
        return {"wheel_mb": round(fresh.wheel.stat().st_size / 1e6, 1), "first_answer_s": round(median(seconds), 2)}
