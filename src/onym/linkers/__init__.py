"""Linkers: they take documents with mentions and return ranked candidates for each mention.

Each linker is one module. Linkers do not import each other, except for the cascade and the reranker, which combine other
linkers. Candidates are always concepts of the linker's own knowledge base.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onym._lazy import lazy
from onym.kb import KnowledgeBase
from onym.linkers.base import Linker, LinkerConfig
from onym.parts import OpenContext
from onym.registry import LINKERS

if TYPE_CHECKING:
    from onym.linkers.by_type import ByTypeLinker
    from onym.linkers.cascade import CascadeLinker
    from onym.linkers.collective import CollectiveLinker
    from onym.linkers.dense import DenseLinker
    from onym.linkers.exact import ExactLinker
    from onym.linkers.generative import GenerativeLinker
    from onym.linkers.genes import GenesLinker
    from onym.linkers.organisms import OrganismsLinker
    from onym.linkers.rerank import RerankLinker
    from onym.linkers.tfidf import TfidfLinker
    from onym.linkers.variants import VariantsLinker

__all__ = [
    "ByTypeLinker",
    "CascadeLinker",
    "CollectiveLinker",
    "DenseLinker",
    "ExactLinker",
    "GenerativeLinker",
    "GenesLinker",
    "Linker",
    "LinkerConfig",
    "OrganismsLinker",
    "RerankLinker",
    "TfidfLinker",
    "VariantsLinker",
    "linker_config",
    "open_linker",
]
__getattr__ = lazy(
    __name__,
    {
        "ByTypeLinker": "onym.linkers.by_type",
        "CascadeLinker": "onym.linkers.cascade",
        "CollectiveLinker": "onym.linkers.collective",
        "DenseLinker": "onym.linkers.dense",
        "ExactLinker": "onym.linkers.exact",
        "GenerativeLinker": "onym.linkers.generative",
        "GenesLinker": "onym.linkers.genes",
        "OrganismsLinker": "onym.linkers.organisms",
        "RerankLinker": "onym.linkers.rerank",
        "TfidfLinker": "onym.linkers.tfidf",
        "VariantsLinker": "onym.linkers.variants",
    },
)


def linker_config(name: str, **options: Any) -> LinkerConfig:
    """Return the configuration of a linker by its short name; options that are None are ignored.

    >>> linker_config("tfidf", names_per_mention=20).kind
    'tfidf'
    """
    config: LinkerConfig = LINKERS.load(name).Config.from_options(options)
    return config


def open_linker(config: LinkerConfig | str, kb: KnowledgeBase, context: OpenContext | None = None) -> Linker:
    """Open a linker for a knowledge base, by its configuration or its short name.

    >>> open_linker("exact", KnowledgeBase.open(getfixture("tiny_kb"))).config["linker"]
    'exact'
    """
    config = linker_config(config) if isinstance(config, str) else config
    linker: Linker = LINKERS.load(config.kind).open(config, kb, context or OpenContext())
    return linker
