"""Importing modules anew, as where a package is not installed, without a trace for later tests."""

from __future__ import annotations

import sys

import pytest


def without_torch(monkeypatch: pytest.MonkeyPatch, *prefixes: str) -> None:
    """Have torch not installed, and forget modules by the beginning of their names, also as names of their packages."""
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [name for name in sys.modules if name.startswith(prefixes)]:
        package, _, last = name.rpartition(".")
        if package in sys.modules:
            monkeypatch.delattr(sys.modules[package], last, raising=False)
        monkeypatch.delitem(sys.modules, name)
