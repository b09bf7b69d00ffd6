"""Print a random sample of docstrings, comments, errors and help texts, for an independent reader.

The reader marks each text that needs a second reading.

texts     number of texts in src, benchmarks and tests, by kind
sample    random sample: kind, location and text
"""

from __future__ import annotations

import argparse
import random
from collections import Counter

from tests.architecture.prose import collect_texts

from benchmarks.__main__ import ROOT

FOLDERS = ("src", "benchmarks", "tests")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sample", type=int, default=100, help="number of texts to draw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", choices=FOLDERS, action="append", help="draw from this folder only")


def run(options: argparse.Namespace) -> dict[str, object]:
    texts = [text for folder in options.folder or FOLDERS for text in collect_texts(ROOT, folder)]
    sample = random.Random(options.seed).sample(texts, min(options.sample, len(texts)))
    return {"texts": Counter(text.kind for text in texts), "sample": [text._asdict() for text in sample]}
