"""Compare the cascade with its stages: accuracy, speed, and the share of mentions that each stage answered.

Links the test mentions of BC5CDR to the open knowledge base, with the models of the results page (in `ONYM_RUNS`). `--quick` is
a smoke test: 60 mentions of NCBI disease, linked to the names of its gold concepts with off-the-shelf MiniLM and flan-t5-small.
Building indexes and tries is not timed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.bare import bare_pipeline
from benchmarks.results.predict import folder_of, parts
from benchmarks.results.tasks import Task, open_quick_task, open_task
from onym.evaluate.cases import ConceptResolver, gold_cases
from onym.evaluate.metrics import gold_ranks, recall_at
from onym.methods.base import Linker
from onym.methods.compose.cascade import CascadeLinker
from onym.methods.dense.linker import DenseLinker
from onym.methods.exact import ExactLinker
from onym.methods.generative.linker import GenerativeLinker
from onym.outputs.predictions import Predictions, predictions_of
from onym.types import Document

_TOP = 10
_QUICK = 60  # mentions


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dataset", default="bc5cdr", help="key of a task of benchmarks/results/tasks.py, such as bc5cdr")
    parser.add_argument("--encoder", default="model:minilm", help="model of the dense linker")
    parser.add_argument("--model", default="bc5cdr-preferred", help="model of the generative linker")
    parser.add_argument("--mentions", type=int, default=0, help="number of mentions; by default all, or 60 with --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    task = open_quick_task("test") if options.quick else open_task(options.dataset, "test")
    models = {"encoder": "model:minilm", "model": "model:flan-t5-small"} if options.quick else vars(options)
    encoder, model = folder_of(models["encoder"]), folder_of(models["model"])
    count = options.mentions or (_QUICK if options.quick else sys.maxsize)
    documents = next(parts(task.dataset.documents(task.split), count))
    rows, shares = [], {}
    for name, linker in systems(task, encoder, model).items():
        row, stages = measure(linker, documents, task)
        rows.append({"linker": name, **row})
        if stages:
            shares[name] = stages
    return {
        "mentions": sum(len(doc.mentions) for doc in documents),
        "encoder": encoder.name,
        "model": model.name,
        "rows": rows,
        "share_pct": shares,
    }


def systems(task: Task, encoder: Path, model: Path) -> dict[str, Linker]:
    """Return the single linkers, and cascades of two and three of them."""
    exact = ExactLinker(task.kb)
    dense = DenseLinker.from_pretrained(encoder, task.kb)
    generative = GenerativeLinker.from_pretrained(model, task.kb)
    return {
        "exact": exact,
        "dense": dense,
        "generative": generative,
        "cascade without generative": CascadeLinker(exact=exact, dense=dense),
        "cascade without dense": CascadeLinker(exact=exact, generative=generative),
        "cascade": CascadeLinker(exact=exact, dense=dense, generative=generative),
    }


def measure(linker: Linker, documents: Sequence[Document], task: Task) -> tuple[dict[str, float], dict[str, float]]:
    """Return the accuracy and speed of a linker, and the share of mentions that each stage answered."""
    start = time.perf_counter()
    linked = list(bare_pipeline(linker, _TOP).link_many(documents))
    seconds = time.perf_counter() - start
    answers = Predictions.of(predictions_of(linked), {}).answers
    judged = gold_cases(documents, lambda key: answers[key], ConceptResolver(task.kb), is_decided=True)
    cases = [case for case in judged if case.is_in_kb]
    count = sum(len(doc.mentions) for doc in documents)
    recall = {
        f"{name.replace('-', '_')}_r1": round(100 * recall_at(gold_ranks(cases, name), 1), 1) for name in ("strict", "any-id")
    }
    links = [link for each in linked for link in each.links] if isinstance(linker, CascadeLinker) else []
    stages = Counter(link.stage or "none" for link in links)
    shares = {stage: round(100 * number / count, 1) for stage, number in sorted(stages.items())}
    return {**recall, "mentions_per_s": round(count / seconds, 1)}, shares
