"""Pipelines that rank as papers do: a linker for annotated mentions, and nothing that a pipeline adds to it."""

from __future__ import annotations

from onym.methods.base import Linker
from onym.pipeline import Pipeline, PipelineOptions


def bare_pipeline(linker: Linker, top_k: int = 10, *, expand: bool = True) -> Pipeline:
    """Return a bare pipeline; `expand` says whether abbreviations stand for the long form that their document defines."""
    return Pipeline(linker, options=PipelineOptions(top_k=top_k, expand_abbreviations=expand), bare=True)
