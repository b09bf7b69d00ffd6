"""Pipelines: a folder that says which detector, which linker, which knowledge base and which threshold. Text in, links out.

Always true here: a folder refers to everything by path and digest, and what has changed since is refused.
"""

from __future__ import annotations

from onym.pipeline.config import PipelineConfig, PipelineOptions
from onym.pipeline.folder import build_pipeline
from onym.pipeline.pipeline import Pipeline

__all__ = ["Pipeline", "PipelineConfig", "PipelineOptions", "build_pipeline"]
