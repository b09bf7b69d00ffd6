"""A small recipe for tests, and a server for its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onym.packs.recipe import PipelineRecipe
from tests.robustness.cli.catalogue import FileServer

URL = "https://example.org/obo/fevers.obo"
PATH = "/obo/fevers.obo"
OBO = """format-version: 1.2
ontology: hp

[Term]
id: HP:0001945
name: Fever
synonym: "Pyrexia" EXACT []

[Term]
id: HP:0012735
name: Cough
"""
TERMS = {"title": "Fevers", "version": "1", "licence": "CC0", "attribution": "Cite the fevers."}
TRAINED = {"pack": "starter", "parts": ["classifier", "reranker"]}


def small_recipe(**changes: Any) -> PipelineRecipe:
    """Return a recipe with two phenotypes."""
    values: dict[str, Any] = {
        "name": "fevers",
        "title": "Fevers, by their names",
        "releases": [{"name": "fevers", **TERMS, "files": [{"url": URL, "megabytes": 0.1}]}],
        "kb": {"sources": [{"path": "fevers.obo", "name": "HPO"}]},
        "pipeline": {"detector": {"kind": "dictionary"}, "linker": {"kind": "exact"}},
    }
    return PipelineRecipe.of(values | changes)


def small_server(folder: Path, text: str = OBO) -> FileServer:
    """Return a server with the file of the recipe."""
    path = folder / "served" / PATH.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return FileServer(folder / "served")
