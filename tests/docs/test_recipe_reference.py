"""Tests that docs/reference/recipe.md lists every key of a recipe with its default."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from onym.kb.groups import GROUPS
from onym.kb.readers.table import USUAL
from onym.kb.recipe import JoinConfig, KindLabel, NameRule, Recipe, SourceConfig

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "recipe.md").read_text("utf-8")


def rows(heading: str) -> dict[str, str]:
    """Return key and default of each row in the table under a heading."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", section, re.MULTILINE))


@pytest.mark.parametrize(("heading", "model"), [("Recipe", Recipe), ("Source", SourceConfig), ("Joins", JoinConfig)])
def test_each_key_has_a_row_with_its_default(heading: str, model: type[BaseModel]) -> None:
    found = rows(heading)
    assert list(found) == list(model.model_fields)
    for key, field in model.model_fields.items():
        if field.is_required():
            assert found[key] == "needed"
        else:
            default = field.get_default(call_default_factory=True)
            shown = tomllib.loads(f"value = {found[key].strip('`')}")["value"]
            plain = default.model_dump(exclude_defaults=True) if isinstance(default, BaseModel) else default
            assert shown == (list(plain) if isinstance(plain, tuple) else plain)


def test_page_lists_each_kind() -> None:
    assert [kind for kind in get_args(KindLabel) if f"`{kind}`" not in PAGE] == []


def test_page_lists_each_group_and_rule() -> None:
    assert [label for label in (*GROUPS, *get_args(NameRule)) if f"`{label}`" not in PAGE] == []


def test_page_lists_the_column_roles_of_the_reader() -> None:
    page = (DOCS / "how-to" / "own-spreadsheet.md").read_text("utf-8")
    found = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", page.split("\n## Roles of columns\n")[1], re.MULTILINE))
    assert {role: tuple(names.split(", ")) for role, names in found.items()} == USUAL


def test_example_is_a_valid_recipe() -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert example
    assert len(Recipe.of(tomllib.loads(example[1])).sources) == 2
