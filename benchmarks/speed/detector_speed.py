"""Measure the speed of detectors (documents per second on one core) and their span F1, on the same dev documents.

X_documents_per_s, X_f1   speed and F1 of detector X, which is one of:
                          dictionary   the names of the open, joined knowledge base
                          classified   the dictionary, whose matches are filtered by a classifier
                          fp32, int8   a trained detector in this precision
classifier_ms             CPU milliseconds per document that the classifier adds to the dictionary
int8_to_fp32              speed of int8 divided by that of fp32
int8_loss                 F1 of fp32 minus that of int8

`--detector` and `--classifier` are folders below `ONYM_RUNS`. With `--quick`, the detector is an off-the-shelf encoder with
untrained layers and the dictionary is the Human Phenotype Ontology: there is no F1, and `int8_cosine` is the cosine similarity
of int8 and fp32 vectors. Detectors run in turn for several rounds, and the fastest round is reported.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch
from torch.nn.functional import cosine_similarity

from benchmarks.models import model_folder
from benchmarks.report import fastest
from benchmarks.results.predict import folder_of
from benchmarks.results.span_rows import ALL, DICTIONARY, documents_of, judge_spans, open_span_detector, spans_of, types_of
from benchmarks.results.tasks import hpo_kb
from onym.detect.base import Detector
from onym.detect.dictionary import DictionaryDetector
from onym.models.collective import in_int8
from onym.models.documents import DocumentReader
from onym.models.tokens import Tokenizer
from onym.models.torch_encoder import open_body
from onym.types import Document

LOWER_BOUNDS = {"int8_cosine": 0.99}
UPPER_BOUNDS = {"int8_loss": 0.3}
_QUICK = 24  # documents


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--detector", default="granite-three-spans", help="a trained detector below ONYM_RUNS")
    parser.add_argument("--classifier", default="mentions-open", help="a classifier of the dictionary below ONYM_RUNS")
    parser.add_argument("--dataset", default="bc5cdr", help="corpus whose dev documents and guidelines are used")
    parser.add_argument("--documents", type=int, default=200, help="how many")


def run(options: argparse.Namespace) -> dict[str, object]:
    torch.set_num_threads(1)
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
    }
    scores = {name: judge_spans(docs, spans_of(each, docs))[ALL] for name, each in detectors.items()}
    seconds = fastest({name: _reading(each, docs) for name, each in detectors.items()})
    return {
        "documents": len(docs),
        **{f"{name}_documents_per_s": round(len(docs) / each, 1) for name, each in seconds.items()},
        **{f"{name}_f1": score for name, score in scores.items()},
        "classifier_ms": round(1000 * (seconds["classified"] - seconds["dictionary"]) / len(docs), 3),
        "int8_to_fp32": round(seconds["fp32"] / seconds["int8"], 2),
        "int8_loss": round(scores["fp32"] - scores["int8"], 1),
    }


def _reading(detector: Detector, docs: Sequence[Document]) -> Callable[[], object]:
    return partial(spans_of, detector, docs)


def _quick(docs: Sequence[Document]) -> dict[str, object]:
    folder = model_folder("granite")
    readers = {"fp32": _reader(folder), "int8": _reader(folder, is_int8=True)}
    names = DictionaryDetector(hpo_kb())
    readings: dict[str, Callable[[], object]] = {"dictionary": _reading(names, docs)}
    readings |= {name: partial(_vectors, reader, docs) for name, reader in readers.items()}
    seconds = fastest(readings)
    first, second = (_vectors(reader, docs) for reader in readers.values())
    return {
        "documents": len(docs),
        **{f"{name}_documents_per_s": round(len(docs) / each, 1) for name, each in seconds.items()},
        "int8_to_fp32": round(seconds["fp32"] / seconds["int8"], 2),
        "int8_cosine": round(float(cosine_similarity(first, second).mean()), 4),
    }


def _vectors(reader: DocumentReader, docs: Sequence[Document]) -> torch.Tensor:
    return torch.cat([read.states for read in reader.read(docs)])


def _reader(folder: Path, *, is_int8: bool = False) -> DocumentReader:
    model = open_body(folder, "fp32", device="cpu")
    return DocumentReader(in_int8(model) if is_int8 else model, Tokenizer.open(folder))
