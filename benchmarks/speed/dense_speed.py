"""Compare the speed of Onym with sentence-transformers (encoding names) and with plain FAISS (search).

Encoding: the same names of the open knowledge base, the same model (MiniLM), and the same precision, the one that `auto`
selects on this machine. `--quick` uses surfaces of corpora, so that no knowledge base has to be built. Onym and
sentence-transformers encode the same chunks of names in turn. sentence-transformers uses the fastest of several batch sizes,
which is determined on the first names.

Search: the 10 nearest names in an exact (`flat`) index, with batches of 1,000 queries. Onym searches its memory-mapped,
verified artefact; FAISS searches an in-memory index of the same vectors. The fastest of several rounds is reported.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.big_kb import kb_of_names
from benchmarks.models import model_folder
from benchmarks.vectors import Known, Vectors, draw_names, surfaces
from onym.kb import KnowledgeBase
from onym.methods.dense.index import Index, build_index, open_index
from onym.methods.dense.index.kinds import faiss
from onym.models.torch_encoder import Encoder

SEED, K, BATCH = 13, 10, 1_000
_SIZES = (32, 64, 128, 256)
_CLOSE = 0.02  # tolerance: in bf16, a vector depends slightly on the other texts of its batch

Encode = Callable[[Sequence[str]], Vectors]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--names", type=int, default=0, help="number of names to encode; 100,000 without --quick")
    parser.add_argument("--queries", type=int, default=0, help="number of queries; 10,000 without --quick")
    parser.add_argument("--turns", type=int, default=5, help="rounds of the search; the fastest is reported")


def run(options: argparse.Namespace) -> dict[str, object]:
    names = surfaces()[: options.names or 800] if options.quick else draw_names(options.names or 100_000)
    encoder = Encoder.open(model_folder("minilm"))
    reference, size = _reference(encoder.precision, names[: min(len(names) // 4, 2_048)])
    vectors, own_s, reference_s = compare_encoders(encoder.encode, reference, names, parts=4 if options.quick else 20)
    figures = {
        "names": len(names),
        "precision": encoder.precision,
        "reference_batch": size,
        "names_per_s": round(len(names) / own_s),
        "reference_names_per_s": round(len(names) / reference_s),
        "encode_ratio_to_sentence_transformers": round(reference_s / own_s, 2),
    }
    return figures | _search(names, vectors, encoder.precision, options)


def compare_encoders(own: Encode, reference: Encode, names: Sequence[str], parts: int) -> tuple[Vectors, float, float]:
    """Return the vectors of the names and the seconds of both encoders; raise if their vectors differ."""
    seconds, found = [0.0, 0.0], []
    for rows in np.array_split(np.arange(len(names)), parts):
        part = [names[row] for row in rows.tolist()]
        both = []
        for who, encode in enumerate((own, reference)):
            start = time.perf_counter()
            both.append(encode(part))
            seconds[who] += time.perf_counter() - start
        if not np.abs(both[0] - both[1]).max() < _CLOSE:
            sys.exit("both encoders have to make the same vectors")
        found.append(both[0])
    return np.concatenate(found), seconds[0], seconds[1]


def _reference(precision: str, few: Sequence[str]) -> tuple[Encode, int]:
    """Return sentence-transformers' `encode` with its fastest batch size."""
    import torch

    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    from sentence_transformers import SentenceTransformer

    dtype = getattr(torch, precision)
    model: Any = SentenceTransformer(str(model_folder("minilm")), device="cpu", model_kwargs={"dtype": dtype})

    def encode(texts: Sequence[str], size: int) -> Vectors:
        return np.asarray(model.encode(list(texts), batch_size=size, show_progress_bar=False), dtype=np.float32)

    encode(few, _SIZES[0])
    seconds = {}
    for size in _SIZES:
        start = time.perf_counter()
        encode(few, size)
        seconds[size] = time.perf_counter() - start
    best = min(seconds, key=lambda size: seconds[size])
    return lambda texts: encode(texts, best), best


def _search(names: list[str], vectors: Vectors, precision: str, options: argparse.Namespace) -> dict[str, object]:
    count = options.queries or (2_000 if options.quick else 10_000)
    rng = np.random.default_rng(SEED)
    wanted = vectors[rng.choice(len(vectors), count)] + rng.standard_normal(
        (count, vectors.shape[1]), dtype=np.float32
    ) / np.float32(40)
    with tempfile.TemporaryDirectory() as folder:
        kb = kb_of_names(Path(folder) / "kb", pl.Series(names))
        source = Known(names, vectors, precision)
        build_index(kb, source, Path(folder) / "index", "flat")
        own, bare = open_index(Path(folder) / "index"), faiss().IndexFlatIP(vectors.shape[1])
        bare.add(source.encode(_names(kb)))
        own_s, bare_s = _seconds(own, bare, wanted, options.turns)
    return {
        "queries": count,
        "queries_per_s": round(count / own_s),
        "faiss_queries_per_s": round(count / bare_s),
        "search_ratio_to_faiss": round(bare_s / own_s, 3),
    }


def _seconds(own: Index, bare: Any, wanted: Vectors, turns: int) -> tuple[float, float]:
    """Run both searches in turn and return the fastest time of each; raise if their results differ."""
    searches: tuple[Callable[[Vectors], tuple[Any, Any]], ...] = (
        lambda batch: own.search(batch, K),
        lambda batch: bare.search(batch, K),
    )
    best = [float("inf")] * 2
    for _ in range(turns):
        found = []
        for who, search in enumerate(searches):
            start = time.perf_counter()
            found.append([search(wanted[at : at + BATCH])[0] for at in range(0, len(wanted), BATCH)])
            best[who] = min(best[who], time.perf_counter() - start)
        if not np.allclose(np.concatenate(found[0]), np.concatenate(found[1]), atol=1e-5):
            sys.exit("both have to find the same")
    return best[0], best[1]


def _names(kb: KnowledgeBase) -> list[str]:
    return list(kb.names)
