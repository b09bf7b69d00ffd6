"""Tests that the docstring of `onym.kb.knowledge_base` lists all columns of the artefact."""

from __future__ import annotations

from pathlib import Path

from onym.kb import KnowledgeBase
from onym.kb import knowledge_base as layout


def test_each_column_is_described(tiny_kb: Path) -> None:
    files = KnowledgeBase.open(tiny_kb).manifest.files
    columns = {name.removesuffix(".npy") for name in files if name.endswith(".npy")}
    columns = {name.removesuffix(".offsets").removesuffix(".values").removesuffix(".data") for name in columns}
    described = set((layout.__doc__ or "").replace(",", " ").split())
    assert columns - described - {"sources", "languages", "types", "definitions", "xrefs"} == set()
