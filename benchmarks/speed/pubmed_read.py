"""Compare the speed of reading a PubMed file with bare lxml `iterparse` plus `clear()` on the same file."""

from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from lxml import etree

from benchmarks.report import data_folder
from onym.corpora.formats import get
from onym.store.files.source import Source
from onym.types import Document

FILE = "pubmed/pubmed20n0014.xml.gz"
QUICK = 3_000


def run(options: argparse.Namespace) -> dict[str, object]:
    path = data_folder() / FILE
    limit = QUICK if options.quick else None
    passages = list(_passages(path, limit))
    citations, with_abstract = len(passages), sum(count > 1 for count in passages)
    # Both run in turn, and the fastest time of each counts, so that a busy machine affects both equally.
    turns = [(_time_reading(lambda: _plain(path, limit)), _time_reading(lambda: sum(_passages(path, limit)))) for _ in range(3)]
    plain, ours = min(first for first, _ in turns), min(second for _, second in turns)
    return {
        "citations": citations,
        "with_abstract": with_abstract,
        "citations_per_second": round(citations / ours),
        "ratio_to_iterparse": round(plain / ours, 2),
    }


def _passages(path: Path, limit: int | None) -> Iterator[int]:
    """Read all documents, and return their number of passages."""
    docs = (item for item in get("pubmed").read(Source.open(path)) if isinstance(item, Document))
    return (len(doc.passages) for doc in islice(docs, limit))


def _plain(path: Path, limit: int | None) -> None:
    with gzip.open(path) as file:
        for number, (_, element) in enumerate(etree.iterparse(file, tag="PubmedArticle"), 1):
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
            if number == limit:
                break


def _time_reading(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start
