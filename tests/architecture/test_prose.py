"""Tests that docstrings, comments, errors and help texts are found in the source."""

from __future__ import annotations

from pathlib import Path

from tests.architecture.prose import collect_texts

SOURCE = '''"""Say what the module does.

>>> 1 + 1
2
"""
LIMIT = 3  # of open files at once  # noqa


def check(size: int) -> None:
    raise InputError("too-large", f"the file has {size} bytes", fix="split the file into two")


option("--limit", help="Maximum number of files")
'''


def test_each_kind_is_found(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(SOURCE)
    found = [(text.kind, text.text) for text in collect_texts(tmp_path, ".")]
    assert found == [
        ("comment", "# of open files at once  # noqa"),
        ("docstring", "Say what the module does."),
        ("help", "Maximum number of files"),
        ("error", "the file has {size} bytes"),
        ("error", "split the file into two"),
    ]
