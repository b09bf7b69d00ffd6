"""Measure the speed of a reranker, the share of time spent on reranking, and the rejection of hostile trees.

By default a reranker is trained on the NCBI disease corpus over the open, joined knowledge base, and links BC5CDR's dev
mentions; `--quick` uses MEDIC and fewer trees. `--model` and `--kb` select a trained reranker instead. Reranking is pooling
candidates, computing features and evaluating trees; the linkers that propose candidates are not part of it. A hostile model has
inconsistent columns, references that are out of range or form a cycle, or NaN; its digests are correct. The bound on the share
applies to the large knowledge base only: over a small one, finding candidates takes almost no time.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import data_folder
from benchmarks.results.rerank_rows import open_of_types
from benchmarks.results.tasks import medic_kb, open_kb_joined
from onym.errors import OnymError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask
from onym.linkers import linker_config, open_linker
from onym.linkers.rerank import RerankLinker, RerankParts
from onym.rerank.memory import write_memory
from onym.rerank.trees import MAX_DEPTH, MEMORY, RerankerOrigin, open_reranker, write_reranker
from onym.testing.models import stump
from onym.train.configs import RerankTrainingConfig
from onym.train.rerank import train_reranker
from onym.types import Document, Link

MAX_SHARE_PCT = 20.0
UPPER_BOUNDS = {"share_over_bound_pct": 0, "not_refused": 0}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, help="a trained reranker; by default one is trained")
    parser.add_argument("--kb", type=Path, help="knowledge base of the reranker in --model")
    parser.add_argument("--documents", type=int, default=0, help="number of documents; 500 without --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    kb = KnowledgeBase.open(options.kb) if options.kb else medic_kb() if options.quick else open_kb_joined()
    with tempfile.TemporaryDirectory() as folder:
        model = options.model or train_on_ncbi(kb, Path(folder) / "reranker", is_quick=options.quick)
        linker = open_linker(linker_config("rerank", model=str(model)), kb)
        docs = list(islice(open_of_types("bc5cdr", ()).documents("dev"), options.documents or (40 if options.quick else 500)))
        figures = time_linking(linker, docs)
        hostile, refused = hostile_models(Path(folder) / "hostile")
        size = sum(path.stat().st_size for path in model.rglob("*") if path.is_file())
    return {
        "names": len(kb.names),
        "trees": linker.config["trees"],
        **figures,
        "share_over_bound_pct": 0.0 if options.quick else round(max(0.0, figures["rerank_share_pct"] - MAX_SHARE_PCT), 1),
        "model_kb": round(size / 1024),
        "hostile_models": hostile,
        "refused": refused,
        "not_refused": hostile - refused,
    }


def train_on_ncbi(kb: KnowledgeBase, dest: Path, *, is_quick: bool) -> Path:
    """Train a reranker on the NCBI disease corpus; with `--quick` on one type of mentions."""
    types = ["DiseaseClass"] if is_quick else []
    data = {"datasets": ["ncbi-disease"], "kb": str(kb.folder.parent), "types": types}
    trees = {"iterations": 20} if is_quick else {}
    config = RerankTrainingConfig.of({"stage": "rerank", "data": data, "trees": trees})
    return train_reranker(config, dest, data_folder())


class _Watched(RerankParts):
    """Components whose time is measured."""

    def __init__(self, parts: RerankParts, seconds: list[float]) -> None:
        super().__init__(parts.linkers, parts.similarity)
        self._seconds = seconds

    def with_cache(self) -> _Watched:
        return _Watched(super().with_cache(), self._seconds)

    def propose(self, docs: Sequence[Document], only: ConceptMask | None = None) -> dict[str, list[tuple[Link, ...]]]:
        start = time.perf_counter()
        found = super().propose(docs, only)
        self._seconds.append(time.perf_counter() - start)
        return found


def time_linking(linker: Any, docs: Sequence[Document]) -> dict[str, float]:
    """Return the mentions linked per second, and the share of time spent on reranking."""
    proposing: list[float] = []
    watched = RerankLinker(linker.kb, linker.reranker, _Watched(linker.parts, proposing))
    list(watched.link(docs[:2]))  # warm-up
    proposing.clear()
    start = time.perf_counter()
    mentions = sum(len(linked.links) for linked in watched.link(docs))
    seconds = time.perf_counter() - start
    return {
        "mentions": mentions,
        "mentions_per_s_whole": round(mentions / seconds, 1),
        "rerank_share_pct": round(100 * (1 - sum(proposing) / seconds), 1),
    }


def hostile_models(folder: Path) -> tuple[int, int]:
    """Return the number of hostile models, and how many of them were rejected with a code."""
    refused = Counter(is_refused(columns, folder / str(number)) for number, columns in enumerate(hostile_columns()))
    return refused.total(), refused[True]


def is_refused(columns: Mapping[str, Any], folder: Path) -> bool:
    """Write trees as an artefact with correct digests, and return whether it is rejected."""
    write_memory(Counter(), [], folder / MEMORY)
    origin = RerankerOrigin(features=("tfidf", "kind"), parts=("tfidf",))
    trees = replace(stump(), **{name: np.asarray(values) for name, values in columns.items()})
    write_reranker(folder, origin, trees, None, {})
    try:
        open_reranker(folder)
    except OnymError:
        return True
    return False


def hostile_columns() -> Iterator[dict[str, Any]]:
    """Yield columns of hostile trees."""
    sound = stump()
    for name in ("roots", "left", "right"):
        for value in (3, 255, 2**32 - 1):
            yield {name: [value, *getattr(sound, name)[1:].tolist()]}
    yield {"left": [0, 1, 2]}
    yield {"left": [1, 0, 2], "right": [2, 0, 2]}
    yield {"left": [1, 1, 0], "right": [2, 1, 0]}
    yield {"right": [1, 1, 2]}
    yield {"roots": [0, 0]}
    yield {"feature": [2, 0, 0]}
    yield {"feature": [65_535, 0, 0]}
    for number in (np.nan, np.inf, -np.inf):
        yield {"value": [0.0, number, 0.0]}
        yield {"baseline": [number]}
    yield {"threshold": [np.nan, 0.0, 0.0]}
    for name in ("feature", "threshold", "left", "right", "is_left_missing", "value"):
        yield {name: getattr(sound, name)[:2]}
    for name in ("roots", "baseline"):
        yield {name: getattr(sound, name)[:0]}
    size = 2 * MAX_DEPTH + 3
    own = np.arange(size)
    is_inner = (own % 2 == 0) & (own < size - 1)
    flat = dict.fromkeys(("feature", "threshold", "is_left_missing", "value"), np.zeros(size))
    yield flat | {"left": np.where(is_inner, own + 1, own), "right": np.where(is_inner, own + 2, own)}
