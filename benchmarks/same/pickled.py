"""Ask whether pipelines that were sent to another process give the same answers.

Six kinds of pipelines, each sent in five ways: pickled and read again, copied with `copy.deepcopy`, to a process that
multiprocessing spawns, to workers of joblib (loky), and with cloudpickle, which Spark and Dask use.

    name        the starter, by its name
    folder      dictionary and exact match, built into a folder
    pack        the same as a pack, NAME.onymp
    filtered    the starter with a filter, a precision and a threshold
    corrected   the starter with corrections
    terms       the starter for terms

kinds             number of kinds of pipelines
ways              number of ways to send each
compared          number of texts that were compared
answers_changed   number of those with other links, scores or confidences
bytes             size of the largest pickle
"""

from __future__ import annotations

import argparse
import copy
import multiprocessing
import pickle
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onym
from benchmarks.same.texts import draw_documents
from onym.outputs.terms import term_document
from onym.types import Document

UPPER_BOUNDS = {"answers_changed": 0}
LOWER_BOUNDS = {"kinds": 6}
Answers = list[dict[str, Any]]


def run(options: argparse.Namespace) -> dict[str, object]:
    documents = draw_documents(28 if options.quick else 200)["raw"]
    ways = QUICK_WAYS if options.quick else WAYS
    kinds = compared = changed = size = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, pipeline in pipelines(Path(folder)):
            kinds += 1
            texts = [term_document(each.text[:60], each.id) for each in documents] if name == "terms" else documents
            expected = link(pipeline, texts)
            size = max(size, len(pickle.dumps(pipeline)))
            for send in ways:
                found = send(pipeline, texts)
                compared += len(texts)
                changed += sum(one != other for one, other in zip(expected, found, strict=True))
    return {"kinds": kinds, "ways": len(ways), "compared": compared, "answers_changed": changed, "bytes": size}


def pipelines(folder: Path) -> Iterator[tuple[str, onym.Pipeline]]:
    """Yield a pipeline of each kind."""
    from onym.packs import build_pack
    from onym.packs.locate import locate_kb

    starter = onym.load("starter")
    yield "name", starter
    onym.build_pipeline(locate_kb("starter"), folder / "exact")
    yield "folder", onym.load(folder / "exact")
    build_pack(folder / "exact", folder / "exact.onymp", name="exact", version="1", private=True)
    yield "pack", onym.load(folder / "exact.onymp")
    yield "filtered", starter.with_types(["Disease"]).with_precision(0.9).with_threshold(0.5)
    rules = folder / "rules.tsv"
    rules.write_text("surface\tmeaning\npatients\tnot-a-mention\npain\tmesh:D010146\n")
    yield "corrected", starter.with_corrections(rules)
    yield "terms", starter.for_terms()


def link(pipeline: onym.Pipeline, documents: list[Document]) -> Answers:
    """Return the links of documents as plain values; also called in other processes."""
    return [linked.to_dict() for linked in pipeline.link_many(documents)]


def _read_again(pipeline: onym.Pipeline, documents: list[Document]) -> Answers:
    return link(pickle.loads(pickle.dumps(pipeline)), documents)


def _deepcopy(pipeline: onym.Pipeline, documents: list[Document]) -> Answers:
    return link(copy.deepcopy(pipeline), documents)


def _spawn(pipeline: onym.Pipeline, documents: list[Document]) -> Answers:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(link, (pipeline, documents))


def _joblib(pipeline: onym.Pipeline, documents: list[Document]) -> Answers:
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    halves = [documents[: len(documents) // 2], documents[len(documents) // 2 :]]
    return [row for rows in Parallel(2)(delayed(link)(pipeline, half) for half in halves) for row in rows]


def _cloudpickle(pipeline: onym.Pipeline, documents: list[Document]) -> Answers:
    import cloudpickle  # type: ignore[import-untyped]

    function = pickle.loads(cloudpickle.dumps(lambda texts: link(pipeline, texts)))  # a closure, as Spark sends it
    answers: Answers = function(documents)
    return answers


Send = Callable[[onym.Pipeline, list[Document]], Answers]
QUICK_WAYS: tuple[Send, ...] = (_read_again, _deepcopy)
WAYS: tuple[Send, ...] = (*QUICK_WAYS, _spawn, _joblib, _cloudpickle)
