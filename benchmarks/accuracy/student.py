"""Measure the student detector: F1 of its spans, its size and its speed, with NumPy and with ONNX Runtime.

dev, test             F1 of typed spans in percent for each corpus, by type and overall, following the corpus's guidelines
any                   the same on test, without a convention
named                 diseases and chemicals on test, without a convention, with names that `--classifier` accepts
teacher               F1 of `granite-three-spans` on test, from its stored spans
without               F1 on test of students that were trained without that corpus, without a convention (`--left-out`)
parameters, size_mb   parameters, and size of the stored weights
documents_per_core_s  PubMed abstracts per CPU second, the detector alone; `onnx_documents_per_core_s` with ONNX Runtime
numpy_equals_onnx     whether both find the same spans in the abstracts
train_cpu_s           CPU seconds of training, from the record of the model

The model is trained with the preset `student-open` unless `--model` names one below `ONYM_RUNS`. With `--quick`, a small
student is trained for a few steps on the Human Phenotype Ontology, also without NCBI disease.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.batch import OLD
from benchmarks.report import data_folder
from benchmarks.results.predict import folder_of
from benchmarks.results.span_rows import DATASETS, Spans, documents_of, judge_spans, rows_in, spans_of, types_of
from benchmarks.results.tasks import hpo_kb, open_kb_joined
from onym.corpora import documents_of as good_documents
from onym.corpora import read_corpus
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptFilter, select_concepts
from onym.methods import detector_config, open_detector
from onym.train.configs import StudentTrainingConfig
from onym.train.stages import read_config
from onym.train.student.trainer import train_student
from onym.types import Document

LOWER_BOUNDS = {"numpy_equals_onnx": 1}
UPPER_BOUNDS = {"size_mb": 8}
FULL_LOWER_BOUNDS = {"documents_per_core_s": 200}
_PRESET, _TEACHER = "student-open", "granite-three-spans"
_NAMED = ("Chemical", "Disease")
_ABSTRACTS, _QUICK_ABSTRACTS, _QUICK = 1_000, 100, 20
_MIN_LENGTH = 600  # characters of a citation with an abstract
_BATCH = 64


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default=_PRESET, help="a student below ONYM_RUNS; the default is trained if it is missing")
    parser.add_argument("--kb", type=Path, help="the knowledge base; by default the joined open one")
    parser.add_argument("--classifier", default="", help="a classifier of names below ONYM_RUNS")
    parser.add_argument("--left-out", action="store_true", help="also train students without one corpus each")


def run(options: argparse.Namespace) -> dict[str, object]:
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            return _quick(Path(folder))
    kb = KnowledgeBase.open(options.kb) if options.kb else open_kb_joined()
    model = folder_of(options.model)
    if not model.exists():
        train_student(_config(kb), model, data_folder())
    test = {name: documents_of(name, "test") for name in DATASETS}
    dev = {name: documents_of(name, "dev") for name in DATASETS}
    return {
        "dev": {name: _judge(model, kb, docs, convention=name) for name, docs in dev.items()},
        "test": {name: _judge(model, kb, docs, convention=name) for name, docs in test.items()},
        "any": {name: _judge(model, kb, docs) for name, docs in test.items()},
        **({"named": _judge_named(model, kb, options.classifier, test)} if options.classifier else {}),
        "teacher": {
            row.dataset: row.f1 for row in rows_in() if row.detector == _TEACHER and row.split == "test" and row.convention
        },
        **({"without": {name: _without(name, model, kb, docs) for name, docs in test.items()}} if options.left_out else {}),
        **_measure(model, kb, _abstracts(_ABSTRACTS)),
    }


def _quick(folder: Path) -> dict[str, object]:
    kb, small = hpo_kb(), ("network.width=32", "optim.epochs=0.5", "optim.min_steps=0")
    test = {name: documents_of(name, "test")[:_QUICK] for name in DATASETS}
    train_student(_config(kb, *small), folder / "student", data_folder())
    left_out = next(name for name in DATASETS if name.startswith("ncbi"))
    train_student(_config_without(left_out, kb, *small), folder / "without", data_folder())
    return {
        "test": {name: _judge(folder / "student", kb, docs, convention=name) for name, docs in test.items()},
        "without": {left_out: _judge(folder / "without", kb, test[left_out])},
        **_measure(folder / "student", kb, _abstracts(_QUICK_ABSTRACTS)),
    }


def _config(kb: KnowledgeBase, *overrides: str) -> StudentTrainingConfig:
    found = read_config("student", None, _PRESET, [f"data.kb={kb.folder.parent}", *overrides])
    return found if isinstance(found, StudentTrainingConfig) else StudentTrainingConfig.of({})


def _config_without(name: str, kb: KnowledgeBase, *overrides: str) -> StudentTrainingConfig:
    """Return the configuration of a student that is not trained on a corpus, nor on its held-out documents."""
    config = _config(kb, *overrides)
    datasets = tuple(each for each in config.data.datasets if each != name)
    data = config.data.model_copy(update={"datasets": datasets, "exclude": (*config.data.exclude, name)})
    return config.model_copy(update={"data": data})


def _without(name: str, model: Path, kb: KnowledgeBase, documents: Sequence[Document]) -> dict[str, float]:
    folder = model.with_name(f"{model.name}-without-{name}")
    if not folder.exists():
        train_student(_config_without(name, kb), folder, data_folder())
    return _judge(folder, kb, documents)


def _judge(model: Path, kb: KnowledgeBase, documents: Sequence[Document], convention: str = "") -> dict[str, float]:
    known = {kind for types in _conventions(model).values() for kind in types}
    types = [each for each in types_of(documents) if each in known]
    detector = open_detector(
        detector_config("student", model=str(model), convention=convention, types=",".join(types) or None), kb
    )
    return judge_spans(documents, spans_of(detector, documents))


def _conventions(model: Path) -> dict[str, Any]:
    record = json.loads((model / "training.json").read_bytes())
    found: dict[str, Any] = record["conventions"]
    return found


def _judge_named(
    model: Path, kb: KnowledgeBase, classifier: str, test: dict[str, tuple[Document, ...]]
) -> dict[str, dict[str, float]]:
    config = detector_config("student", model=str(model), classifier=str(folder_of(classifier)))
    detector = open_detector(config, kb, only=select_concepts(kb, ConceptFilter(types=_NAMED)))
    found = {}
    for name, documents in test.items():
        some = [replace(doc, mentions=tuple(each for each in doc.mentions if each.type in _NAMED)) for doc in documents]
        wanted = set(types_of(some))
        spans = {doc: [span for span in spans if span[2] in wanted] for doc, spans in spans_of(detector, some).items()}
        found[name] = judge_spans(some, spans)
    return found


def _abstracts(count: int) -> list[Document]:
    read = good_documents(read_corpus(data_folder() / "pubmed" / OLD))
    return list(islice((Document(doc.id, doc.text) for doc in read if len(doc.text) >= _MIN_LENGTH), count))


def _measure(model: Path, kb: KnowledgeBase, abstracts: Sequence[Document]) -> dict[str, object]:
    record = json.loads((model / "training.json").read_bytes())
    speeds: dict[str, float] = {}
    spans: dict[str, Spans] = {}
    for engine in ("numpy", "onnx"):
        detector = open_detector(detector_config("student", model=str(model), engine=engine), kb)
        spans_of(detector, abstracts[:_BATCH])
        started = time.process_time()
        spans[engine] = spans_of(detector, abstracts)
        speeds[engine] = round(len(abstracts) / (time.process_time() - started), 1)
    bare = [{doc: [span[:3] for span in found] for doc, found in each.items()} for each in spans.values()]
    return {
        "parameters": record["parameters"],
        "size_mb": round(sum(path.stat().st_size for path in model.rglob("*.npy")) / 1e6, 2),
        "abstracts": len(abstracts),
        "documents_per_core_s": speeds["numpy"],
        "onnx_documents_per_core_s": speeds["onnx"],
        "numpy_equals_onnx": int(bare[0] == bare[1]),
        "train_cpu_s": record["cpu_seconds"],
    }
