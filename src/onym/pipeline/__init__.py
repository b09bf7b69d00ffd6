"""Pipelines: a folder that says which detector, which linker, which knowledge base and which threshold. Text in, links out.

May import: linkers, detect, decoding, index, encoders, trie, predictions, corpora, kb, text, store, registry, types, errors.
Always true here: a folder refers to everything by path and digest, and what has changed since is refused.
"""

from onym.pipeline.config import PipelineConfig
from onym.pipeline.folder import build_pipeline, load
from onym.pipeline.pipeline import Pipeline

__all__ = ["Pipeline", "PipelineConfig", "build_pipeline", "load"]
