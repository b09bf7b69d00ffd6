"""Gives each test its own cache directory."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache directory of the test."""
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
