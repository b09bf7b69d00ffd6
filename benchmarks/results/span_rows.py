"""Detect the mentions of a split without linking them, and store the spans as a row of results/detect.

    python -m benchmarks.results.span_rows --dataset biored --detector granite-three-spans --convention biored
    python -m benchmarks.results.span_rows --dataset ncbi-disease --split dev --detector granite-without-ncbi

A detector is `dictionary` (over the open, joined knowledge base, optionally with `--classifier`) or a model folder in
`ONYM_RUNS`. A span is right if gold has the same span with the same type. Only types that the corpus annotates are detected.
The four disease types of NCBI disease are merged into one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.report import data_folder
from benchmarks.results.predict import folder_of
from benchmarks.results.store import FOLDER
from benchmarks.results.tasks import SPLITS, open_kb_joined
from onym.datasets.prepared import open_dataset
from onym.kb.ranking import ConceptFilter, select_concepts
from onym.methods.collective.model import Collective
from onym.methods.collective.onnx_model import OnnxCollective
from onym.methods.detector import Detector
from onym.methods.dictionary import detector as dictionary
from onym.methods.dictionary.classifier import open_classifier
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.tagger import detector as model
from onym.methods.tagger.detector import detector_of
from onym.parts import ReaderPrecision
from onym.store.models import folder_digest
from onym.store.output import whole_file
from onym.train.collective.document_model import f1
from onym.train.corpora import rename_types
from onym.types import Document

DICTIONARY = "dictionary"
DATASETS = ("bc5cdr", "ncbi-disease", "biored")
STORE = FOLDER / "detect"
ALL = "all"
_DIGITS = 4
_DISEASES = dict.fromkeys(("SpecificDisease", "DiseaseClass", "Modifier", "CompositeMention"), "Disease")
_OF_KB = ("Disease", "Chemical")  # groups of the open knowledge base that the corpora annotate

Spans = dict[str, list[tuple[int, int, str, float]]]
"""By document: start, end, type and score."""


@dataclass(frozen=True, slots=True)
class SpanRow:
    """Results of one detector on one split. `f1` is in percent, by type and overall; `weights` is the digest of its model."""

    row: str
    dataset: str
    split: str
    detector: str
    classifier: str
    convention: str
    weights: str
    file: str
    mentions: int
    documents_per_s: float
    f1: Mapping[str, float]


def documents_of(dataset: str, split: str) -> tuple[Document, ...]:
    """Return the documents of a split; the disease types of NCBI disease are merged into one."""
    prepared = open_dataset(dataset, data_folder())
    return rename_types(tuple(replace(doc, relations=()) for doc in prepared.documents(split)), _DISEASES)


def open_span_detector(
    detector: str,
    types: Sequence[str],
    convention: str = "",
    classifier: str = "",
    precision: ReaderPrecision = "auto",
    *,
    is_onnx: bool = False,
) -> Detector:
    """Open a detector for these types; the dictionary has only names of diseases and chemicals."""
    if detector != DICTIONARY:
        found = (OnnxCollective if is_onnx else Collective).open(folder_of(detector), precision)
        wanted = [label.type for label in found.settings.labels if label.type in types]
        return detector_of(found, model.ModelDetectorConfig(types=",".join(dict.fromkeys(wanted)), convention=convention))
    kb = open_kb_joined()
    config = dictionary.DictionaryDetectorConfig(convention=convention)
    own = open_classifier(folder_of(classifier)) if classifier else None
    return DictionaryDetector(
        kb,
        config,
        only=select_concepts(kb, ConceptFilter(types=tuple(name for name in _OF_KB if name in types))),
        classifier=own,
    )


def spans_of(detector: Detector, documents: Sequence[Document]) -> Spans:
    """Return the spans that a detector finds in raw text."""
    bare = [Document(doc.id, doc.text) for doc in documents]
    return {
        found.document.id: [
            (mention.start, mention.end, mention.type, round(score, _DIGITS))
            for mention, score in zip(found.document.mentions, found.scores, strict=True)
        ]
        for found in detector.detect(bare)
    }


def types_of(documents: Sequence[Document]) -> list[str]:
    """Return the annotated types."""
    return sorted({mention.type for doc in documents for mention in doc.mentions})


def judge_spans(documents: Sequence[Document], found: Spans) -> dict[str, float]:
    """Return F1 in percent, by type and overall."""

    def of(name: str) -> float:
        gold = [[(each.start, each.end, each.type) for each in doc.mentions if name in (ALL, each.type)] for doc in documents]
        made = [[each[:3] for each in found.get(doc.id, ()) if name in (ALL, each[2])] for doc in documents]
        return round(f1(gold, made), 1)

    return {name: of(name) for name in (ALL, *types_of(documents))}


def rows_in(folder: Path = STORE) -> list[SpanRow]:
    """Return the stored rows."""
    path = folder / "rows.json"
    return [SpanRow(**row) for row in json.loads(path.read_text("utf-8"))] if path.is_file() else []


def spans_in(row: SpanRow, folder: Path = STORE) -> Spans:
    """Return the spans of a row."""
    with gzip.open(folder / row.file, "rt", encoding="utf-8") as lines:
        next(lines)
        return {doc: [tuple(span) for span in spans] for doc, spans in map(json.loads, lines)}


def add_row(row: SpanRow, source: dict[str, Any], found: Spans, folder: Path = STORE) -> None:
    """Store a row, replacing any row with the same key."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(source, sort_keys=True), *(json.dumps(each) for each in found.items())]
    with whole_file(folder / row.file, force=True) as file:
        file.write(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
    rows = sorted([*(each for each in rows_in(folder) if each.row != row.row), row], key=lambda each: each.row)
    with whole_file(folder / "rows.json", force=True) as file:
        file.write((json.dumps([asdict(each) for each in rows], indent=1) + "\n").encode())


def main(arguments: Sequence[str], folder: Path = STORE) -> int:
    options = _parser().parse_args(arguments)
    documents = documents_of(options.dataset, options.split)
    detector = open_span_detector(options.detector, types_of(documents), options.convention, options.classifier)
    started = time.perf_counter()
    found = spans_of(detector, documents)
    seconds = time.perf_counter() - started
    parts = [part for part in (options.detector, options.classifier, options.convention) if part]
    key = f"{options.dataset}/{'+'.join(parts)}{'-on-dev' if options.split == 'dev' else ''}"
    name = options.classifier or ("" if options.detector == DICTIONARY else options.detector)
    row = SpanRow(
        row=key,
        dataset=options.dataset,
        split=options.split,
        detector=options.detector,
        classifier=options.classifier,
        convention=options.convention,
        weights=folder_digest(folder_of(name)) if name else "",
        file=f"{key.replace('/', '.')}.jsonl.gz",
        mentions=sum(len(doc.mentions) for doc in documents),
        documents_per_s=round(len(documents) / seconds, 1),
        f1=judge_spans(documents, found),
    )
    add_row(row, detector.config, found, folder)
    print(json.dumps({"row": key, "f1": row.f1}))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.results.span_rows",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dataset", required=True, choices=DATASETS)
    parser.add_argument("--split", default="test", choices=SPLITS)
    parser.add_argument("--detector", default=DICTIONARY, help="dictionary, or a model folder in ONYM_RUNS")
    parser.add_argument("--classifier", default="", help="for the dictionary: a classifier folder in ONYM_RUNS")
    parser.add_argument("--convention", default="", help="corpus whose annotation convention the detector follows")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
