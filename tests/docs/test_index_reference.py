"""Tests that docs/reference/vector-index.md lists the configuration, kinds and numbers that a build writes."""

from __future__ import annotations

import re
from pathlib import Path

from onym.methods.dense.index.artefact import FILE, FORMAT, KIND, IndexOrigin
from onym.methods.dense.index.kinds import AUTO, KINDS, LINKS, kind_for
from onym.methods.dense.index.vectors import SHARD

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "vector-index.md").read_text("utf-8")


def first_cells(heading: str) -> list[str]:
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [name for cell in re.findall(r"^\|([^|]*)\|", section, re.MULTILINE) for name in re.findall(r"`([^`]+)`", cell)]


def test_page_lists_the_configuration_in_the_manifest() -> None:
    assert first_cells("What it was built from")[1:] == list(IndexOrigin.model_fields)


def test_page_lists_each_kind() -> None:
    assert first_cells("Kinds") == list(KINDS)


def test_numbers_on_the_page_match_the_code() -> None:
    assert f"format {FORMAT}." in PAGE
    assert f"is `{KIND}`" in PAGE
    assert f"`{FILE}`" in PAGE
    assert f"{SHARD:,} names" in PAGE
    assert f"{LINKS} neighbours on each level, {2 * LINKS} on the lowest" in PAGE


def test_auto_selects_the_kind_on_the_page() -> None:
    assert "`auto` is `flat` for up to 250,000 names and `hnsw` for more." in PAGE
    assert [kind_for(AUTO, names).name for names in (250_000, 250_001)] == ["flat", "hnsw"]
