"""Measure the answers that rankings keep by text, and check that keeping them does not change answers.

The starter's detector finds diseases in citations of a recent PubMed file. `rows` has three linkers: dense (MiniLM over MEDIC),
a cascade of exact match and dense, and the starter's reranker, which keeps features and answers by itself. Each links all
documents in one call, like a shard, with and without the cache. Without it, repeated mentions of one batch (64 documents) are
still computed once. `--quick` uses few documents and few names of MEDIC.

mentions, surfaces      mentions found, and distinct surfaces, normalised and with abbreviations expanded
hit_rate                share of lookups (of the starter: of features, and of answers) that are answered without computation
hit_rate_without        the same share without the cache, when only repetitions within a batch are not computed again
speedup                 CPU seconds without the cache divided by those with it; the minimum of all rounds
answers_changed         mentions whose candidates or their order change with the cache
max_score_change        largest change of a candidate's score (batch composition affects the last bits)
kb_per_answer           KB of memory per cached answer of the dense linker
bytes_equal             1 if the bytes of a shard do not depend on what the process linked before
shards_changed_if_kept  shards whose bytes change if the cache is kept between shards; shows that `bytes_equal` can fail

Outside `rows`, `hit_rate` and `speedup` are those of the dense linker, and `answers_changed` is the sum over all three.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.bare import bare_pipeline
from benchmarks.batch import citations_of, real_files, write_citations
from benchmarks.models import model_folder
from benchmarks.report import fastest
from benchmarks.results.tasks import medic_kb, open_quick_task
from onym.batch.inputs import find_groups
from onym.batch.plan import Shard, key_of
from onym.batch.planning import SHARD_BYTES, SHARD_DOCUMENTS
from onym.batch.shard import write_shard
from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.methods.base import Linker, open_ranking
from onym.methods.compose.cascade import CascadeLinker
from onym.methods.dense.linker import DenseLinker
from onym.methods.exact import ExactLinker
from onym.packs import load
from onym.pipeline import Pipeline
from onym.recent import Recent
from onym.text.queries import Query, queries_of
from onym.types import Document, Link

UPPER_BOUNDS = {"answers_changed": 0}
LOWER_BOUNDS = {"bytes_equal": 1}
_DOCUMENTS, _QUICK = 10_000, 400
_SHARDS = 3
_PER_SHARD, _QUICK_PER_SHARD = 400, 130  # documents
_TOP_K, _WARM_UP = 10, 8


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--documents", type=int, default=0, help=f"documents to link (default: {_DOCUMENTS:,}, or {_QUICK} with --quick)"
    )
    parser.add_argument("--turns", type=int, default=1, help="number of rounds; the minimum is reported")


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.documents or (_QUICK if options.quick else _DOCUMENTS)
    citations = citations_of(real_files()[1], count)
    starter = load("starter")
    linkers = _linkers(starter, is_quick=options.quick)
    dense = linkers["dense"]
    with tempfile.TemporaryDirectory() as folder:
        docs = _detect_mentions(starter, documents_of(read_corpus(write_citations(Path(folder) / "all.xml", citations))))
        rows = {name: _compare_caches(linker, docs, options.turns) for name, linker in linkers.items()}
        figures: dict[str, object] = {
            "documents": len(docs),
            "mentions": sum(len(doc.mentions) for doc in docs),
            "surfaces": len(_surfaces(docs)),
            **{name: rows["dense"][name] for name in ("hit_rate", "speedup")},
            "answers_changed": sum(row["answers_changed"] for row in rows.values()),
            "rows": [{"linker": name, **row} for name, row in rows.items()],
            "kb_per_answer": _kb_per_answer(dense, docs),
        }
        pieces = _pieces(Path(folder), citations, _QUICK_PER_SHARD if options.quick else _PER_SHARD)
        figures |= _purity(dense, starter, pieces)
    return figures


def _linkers(starter: Pipeline, *, is_quick: bool) -> dict[str, Linker]:
    kb = open_quick_task("test").kb if is_quick else medic_kb()
    dense = DenseLinker.from_pretrained(model_folder("minilm"), kb, dtype="fp32")  # bf16 scores depend more on the batch
    return {"dense": dense, "cascade": CascadeLinker(exact=ExactLinker(kb), dense=dense), "starter": starter.linker}


def _detect_mentions(pipeline: Pipeline, documents: Iterable[Document]) -> list[Document]:
    if pipeline.detector is None:
        sys.exit("the starter has no detector")
    return [found.document for found in pipeline.detector.detect(documents)]


def _surfaces(docs: Sequence[Document]) -> list[Query]:
    """Return a query for each distinct text."""
    return list({query.text: query for doc in docs for query in queries_of(doc)}.values())


def _compare_caches(linker: Linker, docs: Sequence[Document], turns: int) -> dict[str, float]:
    """Link documents with and without the cache, in turn."""
    list(bare_pipeline(linker).link_many(docs[:_WARM_UP]))  # warm-up
    links: dict[str, list[Link]] = {}
    counts: dict[str, Looked] = {}

    def act(name: str, *, is_cached: bool) -> None:
        with _count_lookups(is_cached=is_cached) as counts[name]:
            links[name] = [link for linked in bare_pipeline(linker, _TOP_K).link_many(docs) for link in linked.links]

    seconds = fastest({"with": lambda: act("with", is_cached=True), "without": lambda: act("without", is_cached=False)}, turns)
    pairs = list(zip(links["with"], links["without"], strict=True))
    return {
        "hit_rate": counts["with"].hit_rate,
        "hit_rate_without": counts["without"].hit_rate,
        "cpu_s": round(seconds["with"], 2),
        "cpu_s_without": round(seconds["without"], 2),
        "speedup": round(seconds["without"] / seconds["with"], 2),
        "answers_changed": sum(_ids(one) != _ids(other) for one, other in pairs),
        "max_score_change": max((_score_change(one, other) for one, other in pairs), default=0.0),
    }


@dataclass
class Looked:
    """Number of lookups, and of those that had to be computed."""

    keys: int = 0
    computed: int = 0

    @property
    def hit_rate(self) -> float:
        return round(1 - self.computed / self.keys, 3) if self.keys else 0.0


@contextmanager
def _count_lookups(*, is_cached: bool) -> Iterator[Looked]:
    """Count lookups and computed values; without the cache, values are dropped after each batch."""
    looked, fill = Looked(), Recent.fill

    def count(recent: Recent[Any, Any], keys: Sequence[Any], compute: Callable[[list[Any]], Iterable[Any]]) -> list[Any]:
        def count_computed(new: list[Any]) -> Iterable[Any]:
            looked.computed += len(new)
            return compute(new)

        looked.keys += len(keys)
        return fill(recent if is_cached else Recent(len(keys)), keys, count_computed)

    with patch.object(Recent, "fill", count):
        yield looked


def _ids(link: Link) -> list[str]:
    return [candidate.concept_id for candidate in link.candidates]


def _score_change(one: Link, other: Link) -> float:
    pairs = zip(one.candidates, other.candidates, strict=False)
    return max((abs(own.score - also.score) for own, also in pairs), default=0.0)


def _kb_per_answer(linker: Linker, docs: Sequence[Document], surfaces: int = 1_000) -> float:
    """Return the mean memory of a kept answer over some surfaces."""
    queries, rank = _surfaces(docs)[:surfaces], open_ranking(linker, _TOP_K)
    rank(queries[:1])  # warm-up
    tracemalloc.start()
    rank(queries)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return round(used / 1024 / len(queries), 1)


def _pieces(folder: Path, citations: Sequence[bytes], size: int) -> list[Path]:
    starts = range(0, _SHARDS * size, size)
    return [write_citations(folder / f"{at}.xml", citations[at : at + size]) for at in starts]


def _purity(dense: Linker, starter: Pipeline, pieces: Sequence[Path]) -> dict[str, object]:
    """Compare the bytes of shards linked in order, in reverse, and in order with one shared cache."""
    keeping = copy(dense)
    keeping.keeps_answers = True
    pipeline, leaking = Pipeline(dense, starter.detector), Pipeline(keeping, starter.detector)
    shards = [_shard(number, piece, pipeline) for number, piece in enumerate(pieces)]
    in_order = [_write_predictions(shard, pipeline) for shard in shards]
    backwards = [_write_predictions(shard, pipeline) for shard in reversed(shards)]
    leaked = [_write_predictions(shard, leaking) for shard in shards]
    changed = sum(one != other for one, other in zip(in_order, leaked, strict=True))
    return {"shards": len(shards), "bytes_equal": int(in_order == backwards[::-1]), "shards_changed_if_kept": changed}


def _shard(number: int, piece: Path, pipeline: Pipeline) -> Shard:
    groups = tuple(find_groups([piece], "", SHARD_BYTES, SHARD_DOCUMENTS)[0])
    return Shard(number=number, key=key_of(groups, pipeline.source(), text=True), groups=groups)


def _write_predictions(shard: Shard, pipeline: Pipeline) -> bytes:
    file = io.BytesIO()
    write_shard(shard, pipeline, file)
    return file.getvalue()
