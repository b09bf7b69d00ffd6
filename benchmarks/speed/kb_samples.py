"""Measure the speed and memory of drawing pre-training samples from a knowledge base of UMLS's size.

One process on one core draws samples in random order, as in training: BART tokens in windows of 64. Memory is the peak of a
fresh process, including the mapped pages of the knowledge base. `core_share` is the share of a core that the process got; if it
is far below 1, the machine was busy and the speed is not meaningful.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.big_kb import write_release
from benchmarks.models import model_folder
from benchmarks.report import data_folder, own_bytes
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.methods.generative.template import GENBIOEL, InputLayout
from onym.models.tokens import Tokenizer
from onym.train.generative.statements import KnowledgeSamples

WINDOW, BATCH, SEED = 64, 64, 13
MIN_PER_S, MAX_GB = 5_000, 2.0  # bounds on samples per second and on memory, checked without --quick
_ONE_CORE = {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
_STREAM = """
import sys
from benchmarks.speed.kb_samples import stream
stream(sys.argv[1], sys.argv[2], int(sys.argv[3]))
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=0, help="rows of MRCONSO; 16,000,000 without --quick")
    parser.add_argument("--samples", type=int, default=0, help="number of samples; 500,000 without --quick")
    parser.add_argument("--folder", type=Path, help="output folder; a temporary folder by default")
    parser.add_argument("--kb", type=Path, help="existing knowledge base to use instead of a synthetic one")


def run(options: argparse.Namespace) -> dict[str, object]:
    tokenizer = model_folder("bart-tokenizer")
    samples = options.samples or (5_000 if options.quick else 500_000)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = options.kb or _build_kb(Path(folder), options.rows or (160_000 if options.quick else 16_000_000))
        kb = KnowledgeBase.open(path)
        figures = {"concepts": len(kb), "terms": len(kb.term_names)} | _stream_samples(path, tokenizer, samples)
    if not options.quick and (figures["samples_per_s_per_core"] < MIN_PER_S or figures["peak_gb"] > MAX_GB):
        sys.exit(f"under {MIN_PER_S:,} samples per second, or over {MAX_GB} GB: {json.dumps(figures)}")
    return {**figures}


def _build_kb(folder: Path, rows: int) -> Path:
    write_release(folder / "META", data_folder(), rows)
    build_kb(Recipe.of({"sources": [{"path": "META"}]}), folder / "kb", root=folder)
    return folder / "kb"


def _stream_samples(kb: Path, tokenizer: Path, samples: int) -> dict[str, float]:
    """Draw the samples in a separate process; return its figures."""
    command = [sys.executable, "-c", _STREAM, str(kb), str(tokenizer), str(samples)]
    env = {**os.environ, **_ONE_CORE}
    done = subprocess.run(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True, check=True, env=env)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def stream(kb: str, tokenizer: str, count: int) -> None:
    """Draw samples, and print the speed and the memory."""
    layout = InputLayout(GENBIOEL, Tokenizer.open(tokenizer), WINDOW)
    samples = KnowledgeSamples(KnowledgeBase.open(kb), layout, count, SEED)
    start, busy, tokens = time.perf_counter(), time.process_time(), 0
    for first in range(0, count, BATCH):
        batch = samples.__getitems__(range(first, min(count, first + BATCH)))
        tokens += sum(len(sample.source) for sample in batch)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    figures = {
        "samples": count,
        "tokens_per_source": round(tokens / count, 1),
        "samples_per_s_per_core": round(count / seconds),
        "core_share": round(busy / seconds, 2),
        "peak_gb": round(own_bytes("VmHWM") / 1e9, 2),
    }
    print(json.dumps(figures))
