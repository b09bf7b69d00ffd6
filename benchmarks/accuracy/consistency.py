"""Measure how much the other mentions of a document help: recall@1 on the gold mentions of dev.

`expand_abbreviations`: an abbreviation is replaced by the long form that its document defines.
`average_repeated_mentions`: repeated mentions (same surface) in a document share their mean embedding.

Links the dev mentions of BC5CDR to the open knowledge base, with the models of the results page (in `ONYM_RUNS`). Options that
help here are on by default. `--quick` is a smoke test: 60 mentions of NCBI disease, linked to the names of its gold concepts
with off-the-shelf MiniLM.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.results.e2e_predict import predict_with
from benchmarks.results.e2e_tasks import KINDS, EndToEndTask, end_to_end_task, judge_annotated
from benchmarks.results.predict import folder_of
from benchmarks.results.tasks import open_quick_task
from benchmarks.speed.collective_speed import open_model
from onym.methods.base import Linker
from onym.methods.collective.linker import CollectiveLinker, CollectiveLinkerConfig
from onym.methods.collective.model import Collective
from onym.methods.dense.index import open_derived_index
from onym.methods.dense.linker import DenseLinker
from onym.methods.exact import ExactLinker
from onym.pipeline import Pipeline, PipelineOptions

_QUICK = 60  # number of documents with --quick; each has one mention


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dataset", default="bc5cdr", choices=tuple(KINDS))
    parser.add_argument("--encoder", default="model:minilm", help="model of the dense linker")
    parser.add_argument("--model", default="minilm-bc5cdr-joint", help="model of the collective linker")
    parser.add_argument("--documents", type=int, default=0, help="number of documents; by default all, or 60 with --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    task = _quick_task() if options.quick else end_to_end_task(options.dataset, "dev")
    task = replace(task, documents=task.documents[: options.documents or None])
    encoder = folder_of("model:minilm" if options.quick else options.encoder)
    model = open_model(with_names=True) if options.quick else Collective.open(folder_of(options.model))
    rows = []
    for name, settings, linker in systems(task, DenseLinker.from_pretrained(encoder, task.kb), model):
        chosen = PipelineOptions(expand_abbreviations=settings["expand_abbreviations"])
        figures = judge_annotated(task, predict_with(Pipeline(linker, options=chosen, only=task.only), task))
        rows.append({"linker": name, **settings, "strict_r1": figures["strict_r1"], "any_id_r1": figures["any_id_r1"]})
    mentions = sum(len(doc.mentions) for doc in task.documents)
    return {"mentions": mentions, "encoder": encoder.name, "model": model.name or "minilm", "rows": rows}


def systems(task: EndToEndTask, encoder: DenseLinker, model: Collective) -> Iterator[tuple[str, dict[str, bool], Linker]]:
    """Yield each linker with and without information from the rest of the document."""
    for name, linker in (("exact", ExactLinker(task.kb)), ("dense", encoder)):
        for expand in (False, True):
            yield name, {"expand_abbreviations": expand}, linker
    if model.names is None:
        return
    index = open_derived_index(task.kb, model.names, encoder.index.origin.kind)
    for expand in (False, True):
        for average in (False, True):
            config = CollectiveLinkerConfig(average_repeated_mentions=average)
            settings = {"expand_abbreviations": expand, "average_repeated_mentions": average}
            yield "collective", settings, CollectiveLinker(task.kb, model, index, config)


def _quick_task() -> EndToEndTask:
    task = open_quick_task("test")
    documents = [replace(doc, relations=()) for doc in task.dataset.documents("test")]
    return EndToEndTask(tuple(documents[:_QUICK]), task.kb, None, {})
