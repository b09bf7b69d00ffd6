"""Pipelines: a detector, a linker, a knowledge base and options, stored as a folder. Text in, links out.

A pipeline refers to its knowledge base and models by path and digest, and cannot be opened if one of them has changed.
"""

from __future__ import annotations

from onym.pipeline.component import ComponentConfig, after_link, before_link, component_config
from onym.pipeline.config import PipelineConfig, PipelineOptions
from onym.pipeline.folder import build_pipeline
from onym.pipeline.pipeline import Pipeline

__all__ = [
    "ComponentConfig",
    "Pipeline",
    "PipelineConfig",
    "PipelineOptions",
    "after_link",
    "before_link",
    "build_pipeline",
    "component_config",
]
