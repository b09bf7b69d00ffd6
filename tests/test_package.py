"""Tests of the top-level package: exported names and lightweight imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

import onym


def test_all_exported_names_exist() -> None:
    assert sorted(onym.__all__) == onym.__dir__()
    for name in onym.__all__:
        assert getattr(onym, name) is not None


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = onym.nothing


def test_import_loads_no_heavy_libraries() -> None:
    """Importing the package, or the command line, imports neither torch nor polars."""
    code = "import sys, onym, onym.cli; print(sorted({'torch', 'polars', 'pyarrow', 'lxml', 'httpx'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_opening_imports_no_dataframe_library() -> None:
    code = "import sys, onym; onym.KnowledgeBase; print(sorted({'torch', 'polars', 'pyarrow'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
