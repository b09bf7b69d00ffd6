"""Tests that docs/reference/pipeline-recipe.md lists every key of a pipeline recipe with its default."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from onym.packs.recipe import HubModel, PipelineRecipe, Release, RemoteFile, Trained
from onym.pipeline.config import PipelineDesign

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "pipeline-recipe.md").read_text("utf-8")
TABLES: dict[str, type[BaseModel]] = {
    "Recipe": PipelineRecipe,
    "Release": Release,
    "File": RemoteFile,
    "Model": HubModel,
    "Trained": Trained,
    "Pipeline": PipelineDesign,
}


def rows(heading: str) -> dict[str, str]:
    """Return key and default of each row in the table under a heading."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", section, re.MULTILINE))


@pytest.mark.parametrize("heading", TABLES)
def test_each_key_has_a_row_with_its_default(heading: str) -> None:
    found, fields = rows(heading), TABLES[heading].model_fields
    assert list(found) == list(fields)
    for key, field in fields.items():
        default = None if field.is_required() else field.get_default()
        if field.is_required() or default is None:
            assert found[key] == ("needed" if field.is_required() else "none")
        else:
            assert tomllib.loads(f"value = {found[key].strip('`')}")["value"] == (
                list(default) if isinstance(default, tuple) else default
            )


def test_example_is_a_valid_recipe() -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert example
    assert PipelineRecipe.of(tomllib.loads(example[1])).name == "fevers"
