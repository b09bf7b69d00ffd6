"""Tests that the picture of the home page is small, and that the page it was taken from still has the text that it shows."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from tests.test_linked_documents import read

DOCS = Path(__file__).parents[2] / "docs"


def _module() -> Any:
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_picture_is_small() -> None:
    picture = _module().PICTURE.read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 100_000


def test_page_shows_the_text_and_an_explanation() -> None:
    pictures = _module()
    marks = read(pictures.page())
    assert pictures.TEXT in marks.text
    assert (marks.titles[1] or "").startswith("'T2DM' stands for 'type 2 diabetes mellitus' in this document\n")
    assert "script" not in marks.tags
