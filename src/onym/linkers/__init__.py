"""Linkers: documents with mentions in, ranked candidates out. Each reads from top to bottom in one file.

May import: calibrate, detect, decoding, index, encoders, trie, predictions, datasets, corpora, kb, text, store, registry,
types, errors. Linkers do not import each other; a cascade composes them. Always true here: a candidate is a concept of the
linker's own knowledge base, and a file without a leading underscore is a linker.
"""

from __future__ import annotations

from typing import Any

from onym.kb import KnowledgeBase
from onym.linkers.base import Linker, LinkerConfig
from onym.registry import LINKERS
from onym.store.parts import OpenContext

__all__ = ["Linker", "LinkerConfig", "linker_config", "open_linker"]


def linker_config(name: str, **options: Any) -> LinkerConfig:
    """Return the configuration of a linker by its short name; an option that is None is not given.

    >>> linker_config("tfidf", names_per_mention=20).kind
    'tfidf'
    """
    config: LinkerConfig = LINKERS.load(name).Config.from_options(options)
    return config


def open_linker(config: LinkerConfig | str, kb: KnowledgeBase, context: OpenContext | None = None) -> Linker:
    """Open a linker over a knowledge base, by its configuration or its short name.

    >>> open_linker("exact", KnowledgeBase.open(getfixture("tiny_kb"))).config["linker"]
    'exact'
    """
    config = linker_config(config) if isinstance(config, str) else config
    linker: Linker = LINKERS.load(config.kind).open(config, kb, context or OpenContext())
    return linker
