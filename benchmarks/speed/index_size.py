"""Measure the size, build time, opening time, search speed and recall of each kind of index.

The names are those of the open knowledge base, encoded with MiniLM. The queries are the distinct surfaces of BC5CDR and of the
NCBI disease corpus, in batches of 1,000. `recall_at_10` is the share of the ten names found that are at least
as near as the tenth result of FAISS's exact search. With `--quick` all vectors are random. `default` is the row of the
kind that Onym recommends for this number of names; it is built twice, and both files must be equal.

Then six million random vectors (UMLS has about as many names), with MiniLM's dimension, are indexed in a separate process with
the recommended kind. This needs disk space for the vectors twice, and for the index; all files are removed afterwards.

The encoder is timed on one shard of real names. The vectors of the open knowledge base are cached.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from benchmarks.big_kb import kb_of_names, kb_of_numbers
from benchmarks.models import model_folder
from benchmarks.report import own_bytes
from benchmarks.results.tasks import open_kb
from benchmarks.vectors import Drawn, Vectors, draw_names, near, surfaces
from onym.kb import KnowledgeBase
from onym.methods.dense.index import KINDS, Index, build_index, open_index
from onym.methods.dense.index.build import open_derived_index
from onym.methods.dense.index.kinds import AUTO, faiss, kind_for
from onym.methods.dense.index.vectors import SHARD, NameVectors, VectorSource, open_derived_vectors
from onym.store.cache import cache_folder

SEED, K, BATCH, WIDTH = 13, 10, 1_000, 384
OPEN_NAMES = 923_667  # number of names of the open knowledge base
MAX_GB, MAX_OPEN_S = 12.0, 1.0
_SAME = 1e-5  # tolerance for the rounding error of a dot product
_BUILD = """
import sys
from pathlib import Path
from benchmarks.speed.index_size import build_drawn
print(build_drawn(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
"""


@dataclass(frozen=True)
class Names:
    """Names with their vectors, and the query vectors."""

    kb: KnowledgeBase
    encoder: VectorSource
    vectors: NameVectors
    wanted: Vectors


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--names", type=int, default=0, help="number of names of the open knowledge base; all by default")
    parser.add_argument("--queries", type=int, default=10_000, help="number of surfaces to search for")
    parser.add_argument("--vectors", type=int, default=0, help="number of random vectors; 6,000,000 without --quick")
    parser.add_argument("--kind", default="", help="index of the random vectors; by default the kind recommended for 6,000,000")
    parser.add_argument("--kept", action="store_true", help="also search the indexes kept with the knowledge base")
    parser.add_argument("--only-table", action="store_true", help="skip the encoder and the random vectors")
    parser.add_argument("--only", default=",".join(KINDS), help="kinds to measure, separated by commas")


def run(options: argparse.Namespace) -> dict[str, object]:
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="index-size-") as folder:
        figures = _measure_drawn(Path(folder), options) if options.quick else _real_table(Path(folder), options)
        return figures if options.only_table else figures | _many(Path(folder), options)


def _measure_drawn(base: Path, options: argparse.Namespace) -> dict[str, object]:
    kb, encoder = kb_of_numbers(base / "kb", 10_000), Drawn(64)
    vectors = open_derived_vectors(kb, encoder)
    rng = np.random.default_rng(SEED)
    wanted = near(vectors.rows(np.sort(rng.choice(len(vectors), BATCH, replace=False))), rng)
    table = _table(base, Names(kb, encoder, vectors, wanted), options)
    return {"names": len(vectors), "queries": len(wanted)} | table


def _real_table(base: Path, options: argparse.Namespace) -> dict[str, object]:
    from onym.models.torch_encoder import Encoder

    kb = kb_of_names(base / "kb", pl.Series(draw_names(options.names))) if options.names else open_kb()
    encoder = Encoder.open(model_folder("minilm"))
    figures = {} if options.only_table else _encoder_speed(encoder, draw_names(min(SHARD, len(kb.names))))
    wanted = encoder.encode(surfaces()[: options.queries])
    vectors = open_derived_vectors(kb, encoder)
    figures |= {"names": len(vectors), "queries": len(wanted), "precision": encoder.precision}
    return figures | _table(base, Names(kb, encoder, vectors, wanted), options)


def _encoder_speed(encoder: VectorSource, names: list[str]) -> dict[str, object]:
    start = time.perf_counter()
    encoder.encode(names)
    return {"shard_names": len(names), "shard_s": round(time.perf_counter() - start, 1)}


def _table(base: Path, names: Names, options: argparse.Namespace) -> dict[str, object]:
    worst = exact_scores(names.vectors, names.wanted)[:, -1]
    if options.kept:
        return {"rows": [_measure_kept(names, worst, kind) for kind in options.only.split(",")]}
    rows = [_row(base / f"index-{kind}", names, worst, kind) for kind in options.only.split(",")]
    default = kind_for(AUTO, options.names or OPEN_NAMES).name
    figures: dict[str, object] = {"rows": rows}
    for row in rows:
        if row["kind"] == default:
            again = build_index(names.kb, names.encoder, base / "again", default).digest()
            figures["default"] = row | {"deterministic": again == row["digest"]}
    return figures


def _row(dest: Path, names: Names, worst: Vectors, kind: str) -> dict[str, object]:
    start = time.perf_counter()
    manifest = build_index(names.kb, names.encoder, dest, kind)
    figures: dict[str, object] = {
        "kind": kind,
        "digest": manifest.digest(),
        "mb": round(sum(entry.bytes for entry in manifest.files.values()) / 1e6, 1),
        "build_s": round(time.perf_counter() - start, 1),
        "open_s": round(median(_seconds_to_open(dest) for _ in range(5)), 4),
    }
    figures |= _measure_search(open_index(dest), names, worst)
    shutil.rmtree(dest)
    return figures


def _measure_kept(names: Names, worst: Vectors, kind: str) -> dict[str, object]:
    """Return the figures of the index kept with the knowledge base; build it if it is missing."""
    return {"kind": kind} | _measure_search(open_derived_index(names.kb, names.encoder, kind), names, worst)


def _measure_search(index: Index, names: Names, worst: Vectors) -> dict[str, object]:
    wanted = names.wanted
    index.search(wanted[:8], K)  # warm-up: reads the pages that every search touches
    start = time.perf_counter()
    ids = np.concatenate([index.search(batch, K)[1] for batch in _batches(wanted)])
    search_s = time.perf_counter() - start
    found = recall(names.vectors, wanted, ids, worst)
    return {"queries_per_s": round(len(wanted) / search_s, 1), "recall_at_10": round(found, 4)}


def exact_scores(vectors: NameVectors, wanted: Vectors) -> Vectors:
    """Return the scores of the nearest names, best first, by FAISS's exact search over all shards."""
    best = np.full((len(wanted), 0), -np.inf, dtype=np.float32)
    for shard in vectors.shards():
        found = [
            faiss().knn(batch, np.ascontiguousarray(shard), K, faiss().METRIC_INNER_PRODUCT)[0] for batch in _batches(wanted)
        ]
        best = -np.sort(-np.concatenate([best, np.concatenate(found)], axis=1), axis=1)[:, :K]
    return best


def recall(vectors: NameVectors, wanted: Vectors, ids: Any, worst: Vectors) -> float:
    """Return the share of the nearest names that were found; names at equal distance count as found."""
    right = 0
    for start in range(0, len(wanted), BATCH):
        found = ids[start : start + BATCH]
        rows = vectors.rows(np.maximum(found, 0).reshape(-1)).reshape(*found.shape, -1)
        scores = np.einsum("nkw,nw->nk", rows, wanted[start : start + BATCH])
        right += int(((scores >= worst[start : start + BATCH, None] - _SAME) & (found >= 0)).sum())
    return right / int(ids.size)


def _batches(wanted: Vectors) -> Iterator[Vectors]:
    return (wanted[start : start + BATCH] for start in range(0, len(wanted), BATCH))


def _seconds_to_open(folder: Path) -> float:
    start = time.perf_counter()
    _index: Index = open_index(folder)
    return time.perf_counter() - start


def _many(base: Path, options: argparse.Namespace) -> dict[str, object]:
    """Index as many random vectors as UMLS has names, in a separate process."""
    count = options.vectors or (10_000 if options.quick else 6_000_000)
    kind = options.kind or kind_for(AUTO, 6_000_000).name
    need, free = 3.2 * count * WIDTH * 4, shutil.disk_usage(base).free  # bytes for vectors (twice) and index
    if free < need:
        sys.exit(f"{need / 1e9:.1f} GB of disk are needed at {base}, {free / 1e9:.1f} GB are free: set ONYM_CACHE")
    kb_of_numbers(base / "many-kb", count)
    command = [sys.executable, "-c", _BUILD, str(base / "many-kb"), str(base / "many"), kind]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, object] = {
        "six_million_vectors": count,
        "six_million_kind": kind,
        "six_million_build_s": round(time.perf_counter() - start, 1),
        "six_million_gb": (gb := round(int(done.stdout) / 1e9, 2)),
        "six_million_open_s": (open_s := round(median(_seconds_to_open(base / "many") for _ in range(3)), 4)),
    }
    if gb > MAX_GB or open_s > MAX_OPEN_S:
        sys.exit(f"over {MAX_GB} GB or {MAX_OPEN_S} s: {figures}")
    return figures


def build_drawn(kb: Path, dest: Path, kind: str) -> int:
    """Index random vectors, and return the peak memory of this process, including mapped pages."""
    build_index(KnowledgeBase.open(kb), Drawn(WIDTH), dest, kind)
    return own_bytes("VmHWM")
