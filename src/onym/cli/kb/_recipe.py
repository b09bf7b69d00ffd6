"""From the words of the command line to a recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onym.errors import ConfigError
from onym.kb.recipe import Recipe


def recipe_of(
    sources: list[str], options: dict[str, Any], source_options: dict[str, str], columns: list[str], root: Path | None
) -> tuple[Recipe, Path]:
    """Return the recipe and the folder that its paths are relative to; options that are given win over a recipe's own."""
    overrides = {key: value for key, value in options.items() if value is not None}
    if len(sources) == 1 and sources[0].endswith(".toml"):
        path = Path(sources[0])
        recipe = Recipe.from_toml(path)
        return Recipe.of({**recipe.model_dump(), **overrides}, where=str(path)), root or path.parent
    named = {"columns": _columns(columns), **source_options}
    return Recipe.of({"sources": [{"path": path, **named} for path in sources], **overrides}), root or Path()


def _columns(pairs: list[str]) -> dict[str, str]:
    found = dict(pair.partition("=")[::2] for pair in pairs)
    if bad := [role for role, name in found.items() if not name]:
        raise ConfigError("config-invalid", f"--column {bad[0]!r} is not role=name", fix="write it as in --column id=Code")
    return found
