"""Recipes are strict."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError, InputError
from onym.kb.recipe import Recipe


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "kb.toml"
    path.write_text(text)
    return path


def test_a_recipe_file(tmp_path: Path) -> None:
    recipe = Recipe.from_toml(write(tmp_path, 'shared_names = "fewest"\n[[sources]]\npath = "hp.obo"\n'))
    assert recipe.sources[0].path == "hp.obo"
    assert recipe.shared_names == "fewest"
    assert recipe.languages == ("en",)


@pytest.mark.parametrize(
    "text",
    [
        "sources = []",
        '[[sources]]\npath = "a"\nkind = "os.system"',
        'shared_names = "most"\n[[sources]]\npath = "a"',
        'colour = "red"\n[[sources]]\npath = "a"',
        "not toml at all [",
    ],
)
def test_what_is_not_a_recipe_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        Recipe.from_toml(write(tmp_path, text))


def test_no_such_recipe(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="input-missing"):
        Recipe.from_toml(tmp_path / "none.toml")
