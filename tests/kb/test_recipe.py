"""Tests of reading and validating recipes."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError, InputError
from onym.kb.recipe import Recipe


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "kb.toml"
    path.write_text(text)
    return path


def test_reads_a_recipe_file(tmp_path: Path) -> None:
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
def test_rejects_invalid_recipes(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        Recipe.from_toml(write(tmp_path, text))


def test_a_missing_recipe_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="input-missing"):
        Recipe.from_toml(tmp_path / "none.toml")


def test_unset_newer_keys_are_not_recorded() -> None:
    record = Recipe.of({"sources": [{"path": "a.obo"}]}).record()
    assert "joins" not in record
    assert "groups" not in record
    assert record["sources"] == [{"path": "a.obo", "format": "", "name": "", "prefix": "", "columns": {}}]


def test_newer_keys_are_recorded_if_set() -> None:
    source = {"path": "a.obo", "groups": ["Disease"], "only_joined": True}
    record = Recipe.of({"sources": [source], "groups": True, "joins": {"shared_ids": ["cas"]}}).record()
    assert record["groups"] is True
    assert record["joins"]["shared_ids"] == ["cas"]
    assert record["sources"][0]["groups"] == ["Disease"]
    assert "xrefs" not in record["sources"][0]


@pytest.mark.parametrize(
    "joins", [{"by_name": {"mondo": "always"}}, {"by_name": True}, {"many_to_one": "fuse"}, {"closure": True}]
)
def test_rejects_invalid_join_options(joins: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        Recipe.of({"sources": [{"path": "a.obo"}], "joins": joins})


def test_an_unknown_group_is_rejected() -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        Recipe.of({"sources": [{"path": "a.obo", "groups": ["Illness"]}]})
