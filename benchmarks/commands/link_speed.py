"""Measure the speed of linking raw text with the dictionary and exact match.

Links PubMed abstracts to the open knowledge base; with `--quick`, few abstracts to HPO. `unchanged` compares
the speed with that of an earlier version.

documents                 timed abstracts
mentions                  mentions detected in them
documents_per_s           documents per CPU second of this process, after 100 documents that are not timed, median of the rounds
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import islice
from statistics import median

import onym
from benchmarks.report import data_folder
from benchmarks.results.tasks import hpo_kb, open_kb
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.pipeline import Pipeline
from onym.types import Document

FILE = "pubmed/pubmed20n0014.xml.gz"
FULL, QUICK = 3_000, 200
_WARM_UP = 100  # documents


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", type=int, default=0, help="number of abstracts; by default 3,000, or 200 with --quick")
    parser.add_argument("--rounds", type=int, default=0, help="timed rounds; by default 6, or 1 with --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    count, rounds = (QUICK, 1) if options.quick else (FULL, 6)
    documents = list(islice(abstracts(), _WARM_UP + (options.documents or count)))
    kb = hpo_kb() if options.quick else open_kb()
    pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb))
    list(pipeline.link_many(documents[:_WARM_UP]))
    return measure(pipeline, documents[_WARM_UP:], options.rounds or rounds)


def abstracts() -> Iterator[Document]:
    """Yield the PubMed citations that have an abstract."""
    items = onym.read_corpus(data_folder() / FILE, "pubmed")
    return (item for item in items if isinstance(item, Document) and len(item.passages) > 1)


def measure(pipeline: Pipeline, documents: list[Document], rounds: int) -> dict[str, object]:
    """Return the figures of linking the documents."""
    seconds, mentions = [], 0
    for _ in range(rounds):
        began = time.process_time()
        mentions = sum(len(linked.links) for linked in pipeline.link_many(documents))
        seconds.append(time.process_time() - began)
    return {
        "documents": len(documents),
        "mentions": mentions,
        "documents_per_s": round(len(documents) / median(seconds), 1),
    }
