"""Measure the speed of a reranker against computing each mention by itself, and the rejection of hostile trees.

mentions_per_s          mentions linked per CPU second; candidates and features of mentions that are written alike, and
                        answers in similar documents, are computed once
mentions_per_s_before   the same with all features computed for each mention, and similar names searched for each
ratio                   of both
answers_changed         mentions with other candidates, scores or order than without keeping anything

By default two rerankers are trained on the NCBI disease corpus over the open, joined knowledge base, with and without
`pool.skip_names`, and link BC5CDR's dev mentions; `--quick` uses MEDIC and fewer trees. `--model` and `--kb` select one trained
reranker instead. A hostile model has inconsistent columns, references that are out of range or form a cycle, or NaN; its
digests are correct.
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
from tests.support.models import stump

from benchmarks.bare import bare_pipeline
from benchmarks.report import data_folder
from benchmarks.results.rerank_rows import open_of_types
from benchmarks.results.tasks import medic_kb, open_kb_joined
from onym.errors import OnymError
from onym.kb import KnowledgeBase
from onym.kb.ranking import Ranked
from onym.methods import linker_config, open_linker
from onym.methods.reranker.linker import RerankLinker
from onym.methods.reranker.model import MEMORY, RerankerOrigin, open_reranker, write_reranker
from onym.methods.trees.leaf_masks import MAX_LEAVES
from onym.methods.trees.memory import write_memory
from onym.text.queries import queries_of
from onym.train.configs import RerankTrainingConfig
from onym.train.reranker.trainer import train_reranker
from onym.types import Document

UPPER_BOUNDS = {"answers_changed": 0, "not_refused": 0}
_TOP, _BATCH = 10, 64


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, help="a trained reranker; by default one is trained")
    parser.add_argument("--kb", type=Path, help="knowledge base of the reranker in --model")
    parser.add_argument("--documents", type=int, default=0, help="number of documents; 500 without --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    kb = KnowledgeBase.open(options.kb) if options.kb else medic_kb() if options.quick else open_kb_joined()
    with tempfile.TemporaryDirectory() as folder:
        model = options.model or train_on_ncbi(kb, Path(folder) / "reranker", is_quick=options.quick)
        before = options.model or train_on_ncbi(kb, Path(folder) / "before", is_quick=options.quick, skip_names=False)
        linker, slow = (_open(each, kb) for each in (model, before))
        docs = list(islice(open_of_types("bc5cdr", ()).documents("dev"), options.documents or (40 if options.quick else 500)))
        figures = compare(linker, slow, docs)
        hostile, refused = hostile_models(Path(folder) / "hostile")
        size = sum(path.stat().st_size for path in model.rglob("*") if path.is_file())
    return {
        "names": len(kb.names),
        "trees": linker.config["trees"],
        **figures,
        "model_kb": round(size / 1024),
        "hostile_models": hostile,
        "refused": refused,
        "not_refused": hostile - refused,
    }


def _open(model: Path, kb: KnowledgeBase) -> RerankLinker:
    linker = open_linker(linker_config("rerank", model=str(model)), kb)
    assert isinstance(linker, RerankLinker)
    return linker


def train_on_ncbi(kb: KnowledgeBase, dest: Path, *, is_quick: bool, skip_names: bool = True) -> Path:
    """Train a reranker on the NCBI disease corpus; with `--quick` on one type of mentions."""
    types = ["DiseaseClass"] if is_quick else []
    data = {"datasets": ["ncbi-disease"], "kb": str(kb.folder.parent), "types": types}
    trees = {"iterations": 20} if is_quick else {}
    pool = {"skip_names": skip_names}
    config = RerankTrainingConfig.of({"stage": "rerank", "data": data, "trees": trees, "pool": pool})
    return train_reranker(config, dest, data_folder())


def compare(linker: RerankLinker, slow: RerankLinker, docs: Sequence[Document]) -> dict[str, float]:
    """Return the mentions per second of two rerankers, of the second without keeping anything, and the changed answers."""
    list(bare_pipeline(linker).link_many(docs[:2]))  # warm-up
    link_each(slow, docs[:2])
    start = time.process_time()
    found = [link for linked in bare_pipeline(linker, _TOP).link_many(docs) for link in linked.links]
    middle = time.process_time()
    link_each(slow, docs)
    seconds, before = middle - start, time.process_time() - middle
    expected = link_each(linker, docs)
    return {
        "mentions": len(found),
        "mentions_per_s": round(len(found) / seconds, 1),
        "mentions_per_s_before": round(len(found) / before, 1),
        "ratio": round(before / seconds, 2),
        "answers_changed": sum((a.candidates, a.tied) != (b.candidates, b.tied) for a, b in zip(found, expected, strict=True)),
    }


def link_each(linker: RerankLinker, docs: Sequence[Document]) -> list[Ranked]:
    """Link mentions with all features computed for each of them."""
    batches = (docs[start : start + _BATCH] for start in range(0, len(docs), _BATCH))
    queries = ([query for doc in batch for query in queries_of(doc)] for batch in batches)
    return [ranked for batch in queries for ranked in linker.rank_each(batch, _TOP)]


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
    size = 2 * MAX_LEAVES + 1
    own = np.arange(size)
    is_inner = (own % 2 == 0) & (own < size - 1)
    flat = dict.fromkeys(("feature", "threshold", "is_left_missing", "value"), np.zeros(size))
    yield flat | {"left": np.where(is_inner, own + 1, own), "right": np.where(is_inner, own + 2, own)}
