"""Pipelines: a folder that says which detector, which linker, which knowledge base and which threshold. Text in, links out.

May import: linkers, detect, decoding, index, encoders, trie, predictions, corpora, kb, text, store, registry, types, errors.
Always true here: a folder refers to everything by path and digest, and what has changed since is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy
from onym.pipeline.config import PipelineConfig
from onym.pipeline.folder import build_pipeline, load
from onym.pipeline.pipeline import Pipeline

if TYPE_CHECKING:
    from onym.pipeline.mapping import map_table, map_terms
    from onym.pipeline.output import write_links

__all__ = ["Pipeline", "PipelineConfig", "build_pipeline", "load", "map_table", "map_terms", "write_links"]
__getattr__ = lazy(
    __name__,
    {
        "map_table": "onym.pipeline.mapping",
        "map_terms": "onym.pipeline.mapping",
        "write_links": "onym.pipeline.output",
    },
)
