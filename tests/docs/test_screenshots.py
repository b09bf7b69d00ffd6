"""Tests that the screenshots are small, are shown in the docs, and are exactly those that the script makes."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = sorted(path.name for path in (DOCS / "images").glob("*.png"))


def test_pictures_are_small() -> None:
    for name in PICTURES:
        content = (DOCS / "images" / name).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) < 100_000, name


def test_docs_show_exactly_the_pictures_of_the_script() -> None:
    script = (DOCS / "screenshots.py").read_text("utf-8")
    pages = [path.read_text("utf-8") for path in DOCS.rglob("*.md")]
    shown = [name for page in pages for name in re.findall(r"images/(page-[\w.-]+)", page)]
    made = [f"{name}.png" for name in re.findall(r'"(page-\w+)": \(', script)]
    assert PICTURES
    assert PICTURES == sorted(shown) == sorted(made)
