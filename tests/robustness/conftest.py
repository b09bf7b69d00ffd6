"""Collect only `test_*.py` here: suites import optional packages that may not be installed."""

from __future__ import annotations

from pathlib import Path


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    is_suite = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if is_suite else None
