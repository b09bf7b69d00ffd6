"""A dense linker as a benchmark wants it: opened anew, or as the head of a file of predictions says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.results.generative_model import PRECISIONS
from onym.index.kinds import KINDS
from onym.kb import KnowledgeBase
from onym.linkers.dense import DenseLinker
from onym.models.settings import EncoderSettings, read_settings

SEARCHES = tuple(KINDS)
RANKINGS = ("own", "dot", "cosine")
_ANSWERS = 10


def open_linker(folder: Path, kb: KnowledgeBase, search: str, ranking: str) -> DenseLinker:
    """Open an encoder to predict with; vectors are compared as it was made for, or as `ranking` says."""
    similarity = None if ranking == "own" else ranking
    return DenseLinker.from_pretrained(folder, kb, index=search, encoder=read_settings(folder).changed(similarity=similarity))


def open_as_said(folder: Path, kb: KnowledgeBase, config: dict[str, Any]) -> DenseLinker:
    """Open an encoder with the settings that predictions were made with."""
    encoder = EncoderSettings(**{name: config[name] for name in EncoderSettings.model_fields})
    options = {name: config[name] for name in ("index", "expand_abbreviations", "cache_size")}
    return DenseLinker.from_pretrained(folder, kb, encoder=encoder, dtype=PRECISIONS[config["precision"]], **options)


def answers_kept(_kb: KnowledgeBase) -> int:
    """Return how many concepts are kept of each mention."""
    return _ANSWERS
