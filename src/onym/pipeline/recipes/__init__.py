"""The catalogue: recipes of whole pipelines, as data (TOML in this folder), and how a pipeline is made of one.

`onym get NAME` installs a pipeline; only then is anything fetched. `onym.load(NAME)` opens what is installed.
"""

from __future__ import annotations

from onym.pipeline.recipes.catalogue import read_recipe, recipe_names
from onym.pipeline.recipes.config import PipelineRecipe
from onym.pipeline.recipes.inputs import Origin

__all__ = ["Origin", "PipelineRecipe", "read_recipe", "recipe_names"]
