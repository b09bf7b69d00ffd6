"""A trained generative linker as a benchmark wants it: opened anew, or as the head of a file of predictions says.

Models compute in bf16, where a score depends a little on the mentions that share its batch, and a beam now and then on a score.
So a split is linked in parts that depend on nothing but the split: any part can be linked again, with the same answers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.generative_tasks import Task
from onym.decoding.search import SearchConfig
from onym.encoders.loading import Precision
from onym.kb import KnowledgeBase
from onym.linkers.generative import GenerativeConfig, GenerativeLinker
from onym.linkers.predictions import Prediction, Predictions, predictions_of, source_of
from onym.linkers.settings import read_settings
from onym.text.template import template_named
from onym.train.recipes.run import runs_folder
from onym.types import Document

SEARCHES = ("beam5", "exact")
RANKINGS = ("mean", "sum")
PART = 128
"""Mentions of a part, or a few more: documents are not cut."""
_WIDTH = 5
_PRECISIONS: dict[str, Precision] = {"bfloat16": "bf16", "float32": "fp32"}


def kept_folder(folder: Path) -> str:
    """Return a model's folder relative to that of all runs, where it has to be."""
    try:
        return folder.resolve().relative_to(runs_folder()).as_posix()
    except ValueError:
        sys.exit(f"{folder} is not below {runs_folder()}: move it there, or set ONYM_RUNS")


def search_config(search: str, ranking: Literal["mean", "sum"]) -> SearchConfig:
    """Return how to search for the five best names."""
    return SearchConfig(search="beam" if search == "beam5" else "exact", ranking=ranking, width=_WIDTH, top_k=_WIDTH)


def open_linker(folder: Path, kb: KnowledgeBase, search: SearchConfig) -> GenerativeLinker:
    """Open a model to predict with; its template and its window are its own."""
    settings = GenerativeConfig(window=read_settings(folder).window, search=search)
    return GenerativeLinker.from_pretrained(folder, kb, settings=settings)


def open_as_said(folder: Path, kb: KnowledgeBase, config: dict[str, Any]) -> GenerativeLinker:
    """Open a model with the settings that predictions were made with."""
    settings = GenerativeConfig(
        window=config["window"],
        pooling=config["pooling"],
        expand=config["expand"],
        search=SearchConfig(**config["search"]),
    )
    return GenerativeLinker.from_pretrained(
        folder, kb, template=template_named(config["template"]), settings=settings, precision=_PRECISIONS[config["precision"]]
    )


def predicted(linker: GenerativeLinker, task: Task) -> Predictions:
    """Return a linker's answers to all mentions of a task."""
    benchmark = {"name": task.benchmark.name, "digest": task.benchmark.digest, "split": task.split}
    top_k = answers_at_most(task.kb)
    answers = (one for part in parts(task.benchmark.documents(task.split)) for one in predicted_part(linker, part, top_k))
    return Predictions.of(answers, source_of(linker, top_k, benchmark=benchmark))


def predicted_part(linker: GenerativeLinker, part: list[Document], top_k: int) -> Iterator[Prediction]:
    """Yield a linker's answers to the mentions of one part."""
    return predictions_of(linker.link(part, top_k=top_k))


def parts(documents: Iterable[Document], mentions: int = PART) -> Iterator[list[Document]]:
    """Yield documents in parts of so many mentions, the last with fewer."""
    part: list[Document] = []
    count = 0
    for doc in documents:
        part.append(doc)
        count += len(doc.mentions)
        if count >= mentions:
            yield part
            part, count = [], 0
    if part:
        yield part


def answers_at_most(kb: KnowledgeBase) -> int:
    """Return how many concepts the five best names can have together."""
    return _WIDTH * int(np.diff(kb.name_concepts.offsets).max(initial=1))
