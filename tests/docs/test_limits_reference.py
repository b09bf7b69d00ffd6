"""Tests that docs/reference/limits.md lists every limit with its default."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

from onym.kb.recipe import Recipe
from onym.store.download import Patience
from onym.store.limits import DEFAULT_LIMITS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "limits.md").read_text("utf-8")


def rows(heading: str) -> dict[str, str]:
    """Return key and default of each row in the table under a heading."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| ([\d.,]+) \| \S", section, re.MULTILINE))


def test_page_lists_each_file_limit() -> None:
    assert rows("Limits of files") == {key: f"{value:,}" for key, value in asdict(DEFAULT_LIMITS).items()}


def test_page_lists_each_download_limit() -> None:
    assert rows("Limits of downloads") == {key: f"{value:,}" for key, value in asdict(Patience()).items()}


def test_page_has_the_maximum_name_length() -> None:
    assert f"| {Recipe.model_fields['max_name_length'].default:,} code points |" in PAGE
