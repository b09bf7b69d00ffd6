"""Tests that invalid recipes are rejected."""

from __future__ import annotations

from typing import Any

import pytest

from onym.errors import ConfigError
from tests.packs.small import TERMS, TRAINED, URL, small_recipe

MODEL = {
    **TERMS,
    "folder": "encoder",
    "hub": "owner/model",
    "revision": "0" * 40,
    "files": [{"name": "config.json", "megabytes": 1}],
}
DENSE = {"detector": None, "linker": {"kind": "dense", "model": "encoder"}}


def test_model_urls_contain_the_revision() -> None:
    recipe = small_recipe(models=[MODEL], pipeline=DENSE)
    (file,) = recipe.models[0].remote_files()
    assert file.url == f"https://huggingface.co/owner/model/resolve/{'0' * 40}/config.json"
    assert recipe.megabytes == pytest.approx(1.1)
    assert [each.path for each in recipe.pipeline.references()] == ["encoder"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kb": {"sources": [{"path": "other.obo"}]}}, "not a file of a release"),
        ({"pipeline": DENSE}, "neither a model nor a trained component"),
        ({"models": [{**MODEL, "folder": "knowledge-base"}]}, "reserved for the knowledge base"),
        ({"models": [{**MODEL, "revision": "main"}]}, "revision"),
        ({"models": [{**MODEL, "files": [{"name": "../config.json", "megabytes": 1}]}]}, "name"),
        ({"releases": [{"name": "fevers", **TERMS}]}, "either `files` or `how`"),
        ({"releases": [{"name": "fevers", **TERMS, "how": "Ask.", "files": [{"url": URL, "megabytes": 1}]}]}, "either `files`"),
        ({"releases": [{"name": "fevers", **TERMS, "files": [{"url": "http://example.org/a", "megabytes": 1}]}]}, "url"),
        ({"releases": [{"name": name, **TERMS, "how": "Ask."} for name in ("fevers", "more")]}, "not a file of a release"),
        ({"trained": {**TRAINED, "pack": "../starter"}}, "pack"),
        ({"licence": "CC0"}, "licence"),
    ],
)
def test_rejects_invalid_recipes(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=rf"(?s)config-invalid.*{why}"):
        small_recipe(**changes)


def test_rejects_two_licensed_releases() -> None:
    releases = [{"name": name, **TERMS, "how": "Ask."} for name in ("fevers", "more")]
    with pytest.raises(ConfigError, match="more than one release needs a licence"):
        small_recipe(releases=releases, kb={"sources": [{"path": "fevers"}, {"path": "more"}]})
