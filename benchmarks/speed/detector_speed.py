"""Measure the speed of detectors (documents per second on one core) and their span F1, on the same dev documents.

X_documents_per_s, X_f1   speed and F1 of detector X, which is one of:
                          dictionary   the names of the open, joined knowledge base
                          classified   the dictionary, whose matches are filtered by a classifier
                          fp32, int8   a trained detector in this precision, on torch
                          onnx_fp32, onnx_int8   the same detector on ONNX Runtime
classifier_ms             CPU milliseconds per document that the classifier adds to the dictionary
int8_to_fp32              speed of int8 divided by that of fp32; onnx_int8_to_fp32: that of onnx_int8
onnx_int8_to_int8         speed of onnx_int8 divided by that of int8
int8_loss, onnx_int8_loss F1 of fp32 minus that of int8 and of onnx_int8

`--detector` and `--classifier` are folders below `ONYM_RUNS`. With `--quick`, the detector is an off-the-shelf encoder with
untrained heads and the dictionary is the Human Phenotype Ontology: there is no F1. `int8_cosine` and `onnx_int8_cosine` are the
cosine similarities of their token vectors to those of fp32, and `onnx_difference` is the largest difference of a value in
onnx_fp32. Detectors run in turn for several rounds, and the fastest round of each is reported.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from benchmarks.models import model_folder
from benchmarks.report import fastest, fastest_by_slices
from benchmarks.results.predict import folder_of
from benchmarks.results.span_rows import (
    ALL,
    DATASETS,
    DICTIONARY,
    documents_of,
    judge_spans,
    open_span_detector,
    spans_of,
    types_of,
)
from benchmarks.results.tasks import hpo_kb
from onym.methods.collective.documents import DocumentReader
from onym.methods.collective.model import Collective, Heads, heads_bytes
from onym.methods.collective.onnx_model import OnnxCollective
from onym.methods.collective.settings import HEADS, CollectiveSettings, Label
from onym.methods.detector import Detector
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.tagger.detector import detector_of
from onym.methods.tagger.spans import DetectionModel
from onym.models.encoder import Vectors
from onym.models.shape import read_encoder_shape
from onym.store.cache import cache_folder
from onym.types import Document

LOWER_BOUNDS = {"int8_cosine": 0.99, "onnx_int8_cosine": 0.99}
UPPER_BOUNDS = {"int8_loss": 0.3, "onnx_int8_loss": 0.3, "onnx_difference": 0.001}
_QUICK, _SLICE = 12, 3  # documents


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--detector", default="granite-three-spans", help="a trained detector below ONYM_RUNS")
    parser.add_argument("--classifier", default="mentions-open", help="a classifier of the dictionary below ONYM_RUNS")
    parser.add_argument("--dataset", default="bc5cdr", help="corpus whose dev documents and guidelines are used")
    parser.add_argument("--documents", type=int, default=200, help="how many")


def run(options: argparse.Namespace) -> dict[str, object]:
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"  # for ONNX Runtime
    if options.quick:
        return _quick(documents_of("bc5cdr", "dev")[:_QUICK])
    for name in (options.detector, options.classifier):
        if not folder_of(name).is_dir():
            sys.exit(f"there is no model {name}: train it with python -m benchmarks.results.train, or name another")
    docs = documents_of(options.dataset, "dev")[: options.documents]
    types, convention = types_of(docs), options.dataset
    detectors = {
        "dictionary": open_span_detector(DICTIONARY, types),
        "classified": open_span_detector(DICTIONARY, types, convention, options.classifier),
        "fp32": open_span_detector(options.detector, types, convention, precision="fp32"),
        "int8": open_span_detector(options.detector, types, convention, precision="int8"),
        "onnx_fp32": open_span_detector(options.detector, types, convention, precision="fp32", is_onnx=True),
        "onnx_int8": open_span_detector(options.detector, types, convention, precision="int8", is_onnx=True),
    }
    scores = {name: judge_spans(docs, spans_of(each, docs))[ALL] for name, each in detectors.items()}
    seconds = fastest({name: _reading(each, docs) for name, each in detectors.items()})
    return {
        "documents": len(docs),
        **{f"{name}_documents_per_s": round(len(docs) / each, 1) for name, each in seconds.items()},
        **{f"{name}_f1": score for name, score in scores.items()},
        "classifier_ms": round(1000 * (seconds["classified"] - seconds["dictionary"]) / len(docs), 3),
        **_ratios(seconds),
        **{f"{name}_loss": round(scores["fp32"] - scores[name], 1) for name in ("int8", "onnx_int8")},
    }


def _reading(detector: Detector, docs: Sequence[Document]) -> Callable[[], object]:
    return partial(spans_of, detector, docs)


def _quick(docs: Sequence[Document]) -> dict[str, object]:
    with TemporaryDirectory(dir=cache_folder()) as scratch:
        models = _open_models(_save_detector(Path(scratch) / "granite"))
    names = DictionaryDetector(hpo_kb())
    readings: dict[str, Callable[[Sequence[Document]], object]] = {"dictionary": partial(spans_of, names)}
    readings |= {name: partial(spans_of, detector_of(model)) for name, model in models.items()}
    seconds = fastest_by_slices(readings, docs, _SLICE)
    vectors = {name: _vectors(model.reader, docs) for name, model in models.items()}
    return {
        "documents": len(docs),
        **{f"{name}_documents_per_s": round(len(docs) / each, 1) for name, each in seconds.items()},
        **_ratios(seconds),
        "int8_cosine": _cosine(vectors["int8"], vectors["fp32"]),
        "onnx_int8_cosine": _cosine(vectors["onnx_int8"], vectors["fp32"]),
        "onnx_difference": round(float(np.abs(vectors["onnx_fp32"] - vectors["fp32"]).max()), 6),
    }


def _ratios(seconds: Mapping[str, float]) -> dict[str, float]:
    return {
        "int8_to_fp32": round(seconds["fp32"] / seconds["int8"], 2),
        "onnx_int8_to_fp32": round(seconds["fp32"] / seconds["onnx_int8"], 2),
        "onnx_int8_to_int8": round(seconds["int8"] / seconds["onnx_int8"], 2),
    }


def _save_detector(folder: Path) -> Path:
    """Write a detector of the sizes of `granite-three-spans`: an off-the-shelf encoder with untrained heads."""
    shutil.copytree(model_folder("granite"), folder)
    labels = tuple(Label(type=name, corpus=corpus) for corpus in DATASETS for name in ("Disease", "Chemical", "Gene"))
    settings = CollectiveSettings(represent="mean", detect="spans", max_span_tokens=16, links=False, hidden=128, labels=labels)
    torch.manual_seed(0)
    (folder / HEADS).write_bytes(heads_bytes(Heads.of(settings, read_encoder_shape(folder).hidden_size)))
    (folder / CollectiveSettings.FILE).write_bytes(settings.to_bytes())
    return folder


def _open_models(folder: Path) -> dict[str, DetectionModel]:
    return {
        "fp32": Collective.open(folder, "fp32", device="cpu"),
        "int8": Collective.open(folder, "int8", device="cpu"),
        "onnx_fp32": OnnxCollective.open(folder, "fp32"),
        "onnx_int8": OnnxCollective.open(folder, "int8"),
    }


def _vectors(reader: DocumentReader, docs: Sequence[Document]) -> Vectors:
    return np.concatenate([np.asarray(read.states) for read in reader.read(docs)])


def _cosine(one: Vectors, other: Vectors) -> float:
    """Return the mean cosine similarity of two arrays of vectors."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return round(float(((one * other).sum(axis=1) / lengths).mean()), 4)
