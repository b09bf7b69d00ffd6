"""Import modules again as if torch were not installed, without affecting later tests."""

from __future__ import annotations

import sys

import pytest


def without_torch(monkeypatch: pytest.MonkeyPatch, *prefixes: str) -> None:
    """Simulate that torch is not installed, and unload all modules whose names start with a prefix."""
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [name for name in sys.modules if name.startswith(prefixes)]:
        package, _, last = name.rpartition(".")
        if package in sys.modules:
            monkeypatch.delattr(sys.modules[package], last, raising=False)
        monkeypatch.delitem(sys.modules, name)
