"""The package as a whole: what it exports, how fast it imports, and which versions it names."""

from __future__ import annotations

import subprocess
import sys

import pytest

import onym


def test_everything_exported_is_there() -> None:
    assert sorted(onym.__all__) == onym.__dir__()
    for name in onym.__all__:
        assert getattr(onym, name) is not None


def test_what_is_not_exported_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = onym.nothing


def test_import_is_light() -> None:
    """Importing the package, or the command line, imports neither torch nor polars."""
    code = "import sys, onym, onym.cli; print(sorted({'torch', 'polars', 'pyarrow', 'lxml', 'httpx'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_opening_needs_no_dataframe_library() -> None:
    code = "import sys, onym; onym.KnowledgeBase; print(sorted({'torch', 'polars', 'pyarrow'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
