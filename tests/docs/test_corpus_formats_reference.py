"""Tests that docs/reference/corpus-formats.md has a section and a table row for each format, in detection order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from onym.corpora.base import Facet
from onym.corpora.formats import get
from onym.registry import FORMATS

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "corpus-formats.md"
PAGE = DOCS.read_text("utf-8")
SRC = Path(__file__).parents[2] / "src" / "onym" / "corpora"


def test_page_lists_each_format_in_order() -> None:
    assert tuple(re.findall(r"^## (.+)$", PAGE, re.MULTILINE)) == (
        "Which file is read as what",
        "Documents of one id",
        "Ids",
        "Problems",
        *FORMATS.built_in,
    )


@pytest.mark.parametrize("name", FORMATS.built_in)
def test_table_lists_the_facets_of_each_format(name: str) -> None:
    row = re.search(rf"^\| `{name}` \| (.+) \|$", PAGE, re.MULTILINE)
    assert row
    cells = dict(zip(get_args(Facet), row[1].split(" | "), strict=True))
    assert {facet for facet, cell in cells.items() if cell != "no"} == get(name).HOLDS


def test_page_lists_each_problem_code() -> None:
    text = "\n".join(path.read_text("utf-8") for path in SRC.rglob("*.py"))
    assert set(re.findall(r"^\| `(corpus-\w+)`", PAGE, re.MULTILINE)) == set(re.findall(r'"(corpus-[a-z]+)"', text))
