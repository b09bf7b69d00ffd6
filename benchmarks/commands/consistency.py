"""What it is worth that the mentions of a document help each other: recall@1 on dev, with given mentions.

`expand`: a mention that its document says to be short for something is read as that, or where that is written out. `share`:
mentions that are written alike in a document have one vector. The mentions of BC5CDR's dev over the open knowledge base, with
models of the results page, found below `ONYM_RUNS`; what helps here is the default. With `--quick` 200 mentions of NCBI
disease over BioSyn's dictionary with MiniLM as it comes, which was never taught to read documents: only the machinery is shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.commands.collective_speed import open_model
from benchmarks.results.e2e_judge import judge_given
from benchmarks.results.e2e_predict import found_by
from benchmarks.results.e2e_tasks import KINDS, EndToEndTask, end_to_end_task
from benchmarks.results.predict import folder_of
from benchmarks.results.tasks import task
from onym.encoders.collective import Collective
from onym.index import index_beside
from onym.linkers.base import Linker
from onym.linkers.collective import CollectiveLinker, ConsistencyConfig
from onym.linkers.dense import DenseConfig, DenseLinker
from onym.linkers.lexical import ExactLinker
from onym.pipeline.pipeline import Pipeline

_QUICK = 200  # documents, each of them a mention in its text


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--benchmark", default="bc5cdr", choices=tuple(KINDS))
    parser.add_argument("--encoder", default="model:minilm", help="the dense linker's model")
    parser.add_argument("--model", default="minilm-bc5cdr-joint", help="the collective linker's model")
    parser.add_argument("--documents", type=int, default=0, help="how many of the first documents; all without --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    asked = _quick_task() if options.quick else end_to_end_task(options.benchmark, "dev")
    asked = replace(asked, documents=asked.documents[: options.documents or None])
    encoder = folder_of("model:minilm" if options.quick else options.encoder)
    model = open_model(with_names=True) if options.quick else Collective.open(folder_of(options.model))
    rows = []
    for name, settings, linker in systems(asked, DenseLinker.from_pretrained(encoder, asked.kb), model):
        figures = judge_given(asked, found_by(Pipeline(linker, only=asked.only), asked))
        rows.append({"linker": name, **settings, "strict_r1": figures["strict_r1"], "any_id_r1": figures["any_id_r1"]})
    mentions = sum(len(doc.mentions) for doc in asked.documents)
    return {"mentions": mentions, "encoder": encoder.name, "model": model.name or "minilm", "rows": rows}


def systems(asked: EndToEndTask, dense: DenseLinker, model: Collective) -> Iterator[tuple[str, dict[str, bool], Linker]]:
    """Yield linkers with what they take from the rest of a document, and without it."""
    for expand in (False, True):
        yield "exact", {"expand": expand}, ExactLinker(asked.kb, expand=expand)
    for expand in (False, True):
        linker = DenseLinker(asked.kb, dense.encoder, dense.index, DenseConfig(expand=expand))
        yield "dense", {"expand": expand}, linker
    if model.names is None:
        return
    index = index_beside(asked.kb, model.names, dense.index.origin.kind)
    for expand in (False, True):
        for share in (False, True):
            settings = ConsistencyConfig(expand=expand, share=share)
            yield "collective", {"expand": expand, "share": share}, CollectiveLinker(asked.kb, model, index, settings)


def _quick_task() -> EndToEndTask:
    opened = task("ncbi_disease", "test")
    documents = [replace(doc, relations=()) for doc in opened.dataset.documents("test")]
    return EndToEndTask(tuple(documents[:_QUICK]), opened.kb, None, {})
