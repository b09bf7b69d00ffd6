"""Measure the private memory of processes that use one pipeline: alone, and two at a time.

Private memory is `Private_Clean` plus `Private_Dirty` of `/proc/self/smaps_rollup`. Pages of the knowledge base, of models and
of libraries count as private while no other process uses them: so one process has them, and two share them. The pipelines are
copies in a temporary folder, because other programs may use the starter at the same time.

starter                 the built-in pipeline
exact                   dictionary and exact match over the starter's knowledge base

private_mb_<pipeline>_<state>_<processes>, in 10^6 bytes, the mean of the processes:

opened                  after opening the pipeline
one_by_one              after linking each of 1,500 PubMed abstracts by a call of its own
bulk                    after linking the same abstracts in one call

kept_kb_<linker>, in 1,024 bytes: what rankings of exact match, TF-IDF and the starter's reranker keep for the next call,
divided by the number of different texts of mentions in these abstracts.

`--quick` links 200 abstracts.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import shutil
import tempfile
import tracemalloc
from collections.abc import Sequence
from itertools import islice, product
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

import onym
from benchmarks.batch import OLD
from benchmarks.report import data_folder
from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.methods import Linker, open_linker
from onym.packs.locate import KB, pack_folder
from onym.pipeline.link import Linking, LinkOptions
from onym.text.queries import queries_of
from onym.types import Document

_ABSTRACTS, _QUICK = 1_500, 200
_SHORTEST = 200  # characters; shorter texts are titles without an abstract
_PROCESSES = (1, 2)
_STATES = ("opened", "one_by_one", "bulk")


def run(options: argparse.Namespace) -> dict[str, object]:
    texts = _read_abstracts(_QUICK if options.quick else _ABSTRACTS)
    return {"abstracts": len(texts), **_private_figures(texts), **_kept_figures(texts)}


def _private_figures(texts: Sequence[str]) -> dict[str, float]:
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        starter, exact = Path(scratch) / "starter", Path(scratch) / "exact"
        shutil.copytree(pack_folder("starter"), starter)
        onym.build_pipeline(starter / KB, exact)
        gc.collect()  # close the memory maps of the pipeline that was just built
        for folder in (starter, exact):
            _measure(folder, "opened", texts, 1)  # warm-up: digests of copied files are computed once
            for state, count in product(_STATES, _PROCESSES):
                figures[f"private_mb_{folder.name}_{state}_{count}"] = _measure(folder, state, texts, count)
    return figures


def _kept_figures(texts: Sequence[str]) -> dict[str, float]:
    pipeline = onym.load("starter")
    documents = [linked.document for linked in pipeline.link_many(texts)]
    linkers = [open_linker(name, pipeline.kb) for name in ("exact", "tfidf")]
    return {f"kept_kb_{linker.config['linker']}": _kept_kb(linker, documents) for linker in (*linkers, pipeline.linker)}


def _read_abstracts(count: int) -> list[str]:
    documents = documents_of(read_corpus(data_folder() / "pubmed" / OLD))
    return list(islice((document.text for document in documents if len(document.text) >= _SHORTEST), count))


def _measure(folder: Path, state: str, texts: Sequence[str], count: int) -> float:
    """Return the mean private memory of `count` processes, measured when all of them have finished their work."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(count)]
    workers = [context.Process(target=_work, args=(str(folder), state, texts, theirs)) for _, theirs in pipes]
    for worker in workers:
        worker.start()
    for ours, theirs in pipes:
        theirs.close()  # so that reading from a dead process ends
        ours.recv()
    for ours, _ in pipes:
        ours.send("measure")
    found = [cast("float", ours.recv()) for ours, _ in pipes]
    for ours, _ in pipes:
        ours.send("end")
    for worker in workers:
        worker.join()
    return round(sum(found) / count, 1)


def _work(folder: str, state: str, texts: Sequence[str], pipe: Connection) -> None:
    """Open the pipeline, link texts, and send the memory of the process when asked."""
    pipeline = onym.load(folder)
    if state == "one_by_one":
        for text in texts:
            pipeline.link(text)
    elif state == "bulk":
        for _ in pipeline.link_many(texts):
            pass
    gc.collect()
    pipe.send("ready")
    pipe.recv()
    pipe.send(_private_mb())
    pipe.recv()


def _kept_kb(linker: Linker, documents: Sequence[Document]) -> float:
    """Return the memory of the answers that a linker keeps, divided by the number of different texts."""
    Linking(linker, LinkOptions()).link(documents)  # warm-up: strings of the knowledge base are cached, by whatever linker
    texts = {query.text for document in documents for query in queries_of(document)}
    tracemalloc.start()
    linking = Linking(linker, LinkOptions())
    linking.link(documents)
    gc.collect()
    full, _ = tracemalloc.get_traced_memory()
    del linking
    gc.collect()
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return round((full - left) / 1024 / len(texts), 2)


def _private_mb() -> float:
    """Return the private memory of this process."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean:", "Private_Dirty:"))) * 1024 / 1e6
