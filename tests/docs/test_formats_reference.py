"""Tests that docs/reference/formats.md has a section for each reader, in the order in which readers are tried."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from onym.registry import READERS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "formats.md").read_text("utf-8")


def test_page_lists_each_format_in_order() -> None:
    assert tuple(re.findall(r"^## (.+)$", PAGE, re.MULTILINE)) == READERS.built_in


@pytest.mark.parametrize("name", READERS.built_in)
def test_page_marks_readers_written_from_the_specification(name: str) -> None:
    section = PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]
    untried = "Written from the specification" in (import_module(f"onym.kb.readers.{name}").__doc__ or "")
    assert ("Written from the specification" in section) is untried
