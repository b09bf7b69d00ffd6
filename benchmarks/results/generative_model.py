"""A trained generative linker as a benchmark wants it: opened anew, or as the head of a file of predictions says."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np

from onym.decoding.results import Ranking
from onym.decoding.search import SearchConfig
from onym.encoders.device import Precision
from onym.kb import KnowledgeBase
from onym.linkers.generative import GenerativeConfig, GenerativeLinker
from onym.linkers.settings import read_settings
from onym.text.template import template_named

SEARCHES = ("beam5", "exact")
RANKINGS = ("mean", "sum")
PRECISIONS: dict[str, Precision] = {"bfloat16": "bf16", "float32": "fp32"}
_WIDTH = 5


def open_linker(folder: Path, kb: KnowledgeBase, search: str, ranking: str) -> GenerativeLinker:
    """Open a model to predict the five best names with; its template and its window are its own."""
    config = SearchConfig(
        search="beam" if search == "beam5" else "exact", ranking=cast(Ranking, ranking), width=_WIDTH, top_k=_WIDTH
    )
    settings = GenerativeConfig(window=read_settings(folder).window, search=config)
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
        folder, kb, template=template_named(config["template"]), settings=settings, precision=PRECISIONS[config["precision"]]
    )


def answers_at_most(kb: KnowledgeBase) -> int:
    """Return how many concepts the five best names can have together."""
    return _WIDTH * int(np.diff(kb.name_concepts.offsets).max(initial=1))
