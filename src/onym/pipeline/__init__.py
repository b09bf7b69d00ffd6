"""Pipelines: a folder that says which detector, which linker, which knowledge base and which threshold. Text in, links out.

May import: linkers, detect, decoding, index, encoders, trie, corpora, kb, text, store, types, errors.
Always true here: a folder refers to everything by path and digest, and what has changed since is refused.
"""

from onym.pipeline.folder import build_pipeline, load
from onym.pipeline.pipeline import Pipeline
from onym.pipeline.settings import PipelineSettings

__all__ = ["Pipeline", "PipelineSettings", "build_pipeline", "load"]
