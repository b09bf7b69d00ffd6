"""The recipes that come with Onym, by name: `NAME.toml` in this folder."""

from __future__ import annotations

from pathlib import Path

from onym.errors import ConfigError
from onym.pipeline.packs import NAME
from onym.pipeline.recipes.config import PipelineRecipe

_FOLDER = Path(__file__).parent


def recipe_names() -> list[str]:
    """Return the names of all recipes, in order.

    >>> "hpo-phenotypes" in recipe_names()
    True
    """
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def read_recipe(name: str) -> PipelineRecipe:
    """Return the recipe of that name.

    >>> read_recipe("hpo-phenotypes").releases[0].name
    'hpo'
    """
    if not NAME.fullmatch(name) or name not in recipe_names():
        raise ConfigError("recipe-unknown", f"no recipe is named {name!r}", fix=f"known are {', '.join(recipe_names())}")
    return PipelineRecipe.from_toml(_FOLDER / f"{name}.toml")
