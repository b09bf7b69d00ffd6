"""A trained generative linker as a benchmark wants it: opened anew, or as the head of a file of predictions says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from onym.kb import KnowledgeBase
from onym.linkers.generative import GenerativeLinker
from onym.models.device import Precision

SEARCHES = ("beam5", "exact")
RANKINGS = ("mean", "sum")
PRECISIONS: dict[str, Precision] = {"bfloat16": "bf16", "float32": "fp32"}
_WIDTH = 5


def open_linker(folder: Path, kb: KnowledgeBase, search: str, ranking: str) -> GenerativeLinker:
    """Open a model to predict the five best names with; its template and its window are its own."""
    name = "beam" if search == "beam5" else "exact"
    return GenerativeLinker.from_pretrained(folder, kb, search=name, ranking=ranking, width=_WIDTH)


def open_as_said(folder: Path, kb: KnowledgeBase, config: dict[str, Any]) -> GenerativeLinker:
    """Open a model with the settings that predictions were made with."""
    options = {name: config[name] for name in ("template", "window", "pooling", "expand_abbreviations")}
    linker = GenerativeLinker.from_pretrained(folder, kb, dtype=PRECISIONS[config["precision"]], **options)
    return linker.with_search(**config["search"])


def max_answers(kb: KnowledgeBase) -> int:
    """Return how many concepts the five best names can have together."""
    return _WIDTH * int(np.diff(kb.name_concepts.offsets).max(initial=1))
