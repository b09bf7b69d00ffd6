"""A fixture that builds small knowledge bases from text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe

Builder = Callable[..., KnowledgeBase]


@pytest.fixture
def build(tmp_path: Path) -> Builder:
    """Return a function that builds a knowledge base from tables given as strings, in order of precedence."""

    def _build(*tables: str, dest: str = "kb", **options: Any) -> KnowledgeBase:
        sources = []
        for number, table in enumerate(tables):
            name = f"{dest}-{number}.tsv"
            (tmp_path / name).write_text(table)
            sources.append({"path": name, "name": f"s{number}"})
        build_kb(Recipe.of({"sources": sources, **options}), tmp_path / dest, root=tmp_path)
        return KnowledgeBase.open(tmp_path / dest)

    return _build
