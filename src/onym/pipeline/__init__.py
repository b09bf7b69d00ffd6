"""Pipelines: a folder that says which detector, which linker, which knowledge base and which threshold. Text in, links out.

May import: linkers, detect, decoding, index, encoders, trie, predictions, corpora, kb, text, store, registry, types, errors.
Always true here: a folder refers to everything by path and digest, and what has changed since is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy
from onym.packs.locate import load
from onym.pipeline.config import PipelineConfig
from onym.pipeline.folder import build_pipeline
from onym.pipeline.pipeline import Pipeline

if TYPE_CHECKING:
    from onym.outputs.links import write_links
    from onym.outputs.mapping import map_table, map_terms

__all__ = ["Pipeline", "PipelineConfig", "build_pipeline", "load", "map_table", "map_terms", "write_links"]
__getattr__ = lazy(
    __name__,
    {
        "map_table": "onym.outputs.mapping",
        "map_terms": "onym.outputs.mapping",
        "write_links": "onym.outputs.links",
    },
)
