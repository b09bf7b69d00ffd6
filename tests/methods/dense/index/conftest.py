"""Fixtures: a separate knowledge base for each test, because vectors and indexes are stored with the knowledge base."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from tests.methods.dense.index.made import kb_of, words


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    """Return a knowledge base of 30 names."""
    return kb_of(tmp_path, words(30))


@pytest.fixture(scope="session")
def large_kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """Return a knowledge base of 3,000 names."""
    return kb_of(tmp_path_factory.mktemp("large"), words(3_000))
