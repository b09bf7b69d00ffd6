"""Tests that docs/reference/trie.md lists the columns, configuration and numbers that a build writes."""

from __future__ import annotations

import re
from pathlib import Path

from onym.methods.generative.trie.artefact import FORMAT, KIND, Origin
from onym.methods.generative.trie.packed import MAX_NAME_TOKENS, Columns

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "trie.md").read_text("utf-8")


def first_cells(heading: str) -> list[str]:
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [name for cell in re.findall(r"^\|([^|]*)\|", section, re.MULTILINE) for name in re.findall(r"`([^`]+)`", cell)]


def test_page_lists_the_columns_on_disk() -> None:
    assert first_cells("Columns") == list(Columns._fields)


def test_page_lists_the_configuration_in_the_manifest() -> None:
    assert first_cells("What it was built from")[1:] == list(Origin.model_fields)


def test_numbers_on_the_page_match_the_code() -> None:
    assert f"format {FORMAT}." in PAGE
    assert f"is `{KIND}`" in PAGE
    errors = (Path(__file__).parents[2] / "docs" / "reference" / "errors.md").read_text("utf-8")
    assert f"more than {MAX_NAME_TOKENS:,} tokens" in errors
