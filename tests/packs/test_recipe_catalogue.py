"""Tests that all built-in recipes are valid, and that none downloads a licensed release."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError, InputError
from onym.packs.locate import load, pack_folder, recipe_names
from onym.packs.recipe import read_recipe
from onym.pipeline.config import FILE
from onym.vocabularies import downloads

WANTED = {
    "hpo-phenotypes",
    "mesh-diseases-chemicals",
    "mesh-diseases-chemicals-trained",
    "mondo-diseases",
    "pubtator-six",
    "umls-sapbert",
}


def test_catalogue_is_complete() -> None:
    assert set(recipe_names()) >= WANTED


@pytest.mark.parametrize("name", recipe_names())
def test_each_recipe_is_valid(name: str) -> None:
    recipe = read_recipe(name)
    assert recipe.name == name
    for terms in (*recipe.releases, *recipe.models):
        assert terms.version in terms.attribution or terms in recipe.models or terms.version == "any release"
    if recipe.trained is not None:
        pack = pack_folder(recipe.trained.pack)
        assert all((pack / part).is_dir() for part in recipe.trained.parts)
        assert (pack / FILE).is_file()


def test_licensed_releases_have_no_download_url() -> None:
    umls = read_recipe("umls-sapbert").release_to_bring
    assert umls is not None
    assert not umls.files
    assert "uts.nlm.nih.gov" in umls.how
    assert read_recipe("hpo-phenotypes").release_to_bring is None


def test_mesh_has_the_same_url_in_recipe_and_kb_download() -> None:
    files = [file.url for release in read_recipe("mesh-diseases-chemicals").releases for file in release.files]
    assert set(downloads()["mesh"].download) <= set(files)


def test_mesh_recipes_share_the_knowledge_base() -> None:
    plain, trained = (read_recipe(f"mesh-diseases-chemicals{end}") for end in ("", "-trained"))
    assert plain.kb == trained.kb
    assert plain.releases == trained.releases


@pytest.mark.parametrize("name", ["icd", "../recipes/hpo-phenotypes", ""])
def test_rejects_unknown_recipes(name: str) -> None:
    with pytest.raises(ConfigError, match="hpo-phenotypes") as caught:
        read_recipe(name)
    assert caught.value.code == "recipe-unknown"


def test_load_does_not_download() -> None:
    with pytest.raises(InputError, match="(?s)pipeline-not-installed.*onym get hpo-phenotypes"):
        load("hpo-phenotypes")
    with pytest.raises(InputError, match="pipeline-missing"):
        load("no-such-pipeline")


def test_page_of_downloads_lists_the_files_without_digest() -> None:
    files = [file for name in recipe_names() for release in read_recipe(name).releases for file in release.files]
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "build-from-mesh.md").read_text("utf-8")
    assert {file.url for file in files if not file.sha256 and f"| <{file.url}> |" not in page} == set()
    assert not any(f"| <{file.url}> |" in page for file in files if file.sha256)
