"""Tests of obtaining the files of a recipe: downloads, mirrors, local files and licensed releases."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onym.errors import ConfigError, DownloadError, InputError
from onym.packs.recipe import FileSources, gather_inputs
from tests.packs.small import OBO, TERMS, URL, small_recipe, small_server

LICENSED = {
    "releases": [{"name": "fevers", **TERMS, "how": "Ask the nurse."}],
    "kb": {"sources": [{"path": "fevers", "format": "obo"}]},
}


def test_mirror_urls_keep_the_paths(tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []
    with small_server(tmp_path).running() as server:
        inputs = gather_inputs(small_recipe(), FileSources(server.url), progress=lambda what, done: seen.append((what, done)))
    (found,) = inputs.all()
    assert found.stored.path.read_text() == OBO
    assert found.stored.url.startswith("http://127.0.0.1")
    assert seen[-1] == ("downloading fevers.obo", len(OBO))


def test_local_files_are_not_downloaded(tmp_path: Path) -> None:
    (tmp_path / "fevers.obo").write_text(OBO)
    (found,) = gather_inputs(small_recipe(), FileSources("http://127.0.0.1:1", tmp_path)).all()
    assert found.stored.path == tmp_path / "fevers.obo"


def test_local_files_are_verified(tmp_path: Path) -> None:
    (tmp_path / "fevers.obo").write_text(OBO)
    release = {"name": "fevers", **TERMS, "files": [{"url": URL, "megabytes": 1, "sha256": "0" * 64}]}
    with pytest.raises(DownloadError, match="download-digest"):
        gather_inputs(small_recipe(releases=[release]), FileSources(folder=tmp_path))


def test_explains_how_to_get_a_licensed_release() -> None:
    with pytest.raises(ConfigError, match="(?s)release-licensed.*Ask the nurse. Then: onym get fevers --file PATH"):
        gather_inputs(small_recipe(**LICENSED), FileSources())


def test_a_licensed_release_may_be_a_file_or_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "own" / "fevers.obo"
    path.parent.mkdir()
    path.write_text(OBO)
    recipe = small_recipe(**LICENSED)
    of_file, of_folder = (gather_inputs(recipe, FileSources(file=each)).releases[0].stored for each in (path, path.parent))
    assert of_file.bytes == of_folder.bytes == len(OBO)
    os.utime(path, ns=(1, 1))
    assert gather_inputs(recipe, FileSources(file=path)).releases[0].stored == of_file
    assert gather_inputs(recipe, FileSources(file=path.parent)).releases[0].stored != of_folder


def test_rejects_invalid_options_before_downloading(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="config-invalid.*--file"):
        gather_inputs(small_recipe(), FileSources(file=tmp_path))
    with pytest.raises(InputError, match="input-missing"):
        gather_inputs(small_recipe(), FileSources(folder=tmp_path / "none"))
