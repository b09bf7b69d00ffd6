"""`onym get` as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import pytest

from onym.packs import recipe as recipes
from onym.packs.locate import installed_folder, recipe_names
from tests.cli.command import onym
from tests.packs.small import OBO, PATH, small_recipe, small_server
from tests.robustness.cli.catalogue import FileServer


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileServer:
    """Let there be a small recipe, and a server that has its file."""
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(recipes, "read_recipe", lambda _name: small_recipe())
    return small_server(tmp_path)


def test_the_catalogue_is_listed(tmp_path: Path) -> None:
    shown = onym("get", cwd=tmp_path, env={"ONYM_CACHE": str(tmp_path / "cache")}).stdout.splitlines()
    assert [line.split("\t")[0] for line in shown] == recipe_names()
    assert all(len(line.split("\t")) == 4 and " MB\t" in line for line in shown)
    listed = json.loads(onym("get", "--json", cwd=tmp_path).stdout)
    assert {"name", "title", "megabytes", "licences", "extra", "installed"} == set(listed[0])


def test_a_pipeline_is_installed_from_a_mirror(tmp_path: Path, served: FileServer) -> None:
    with served.running():
        done = onym("get", "fevers", "--mirror", served.url, cwd=tmp_path)
    assert f"installed\t{installed_folder('fevers')}" in done.stdout
    assert "sha256" in done.stdout
    assert "Licence: CC0" in done.stderr
    again = json.loads(onym("get", "fevers", "--json", cwd=tmp_path).stdout)
    assert not again["new"]
    assert again["files"][0]["bytes"] == len(OBO)
    linked = json.loads(onym("link", "Pyrexia", "--pipeline", "fevers", "--json", cwd=tmp_path).stdout)
    assert linked["links"][0]["concept_id"] == "HP:0001945"


def test_a_pipeline_is_installed_from_a_folder(tmp_path: Path, served: FileServer) -> None:
    folder = (served.folder / PATH.lstrip("/")).parent
    assert "installed\t" in onym("get", "fevers", "--from", str(folder), cwd=tmp_path).stdout
    assert served.answers == []
    assert "installed\t" in onym("get", "fevers", "--from", str(folder), "--force", cwd=tmp_path).stdout


def test_what_cannot_be_is_explained(tmp_path: Path) -> None:
    env = {"ONYM_CACHE": str(tmp_path / "cache")}
    assert "[recipe-unknown]" in onym("get", "icd", cwd=tmp_path, status=2, env=env).stderr
    with patch("onym.packs.install.find_spec"):
        error = json.loads(onym("get", "umls-sapbert", "--json", cwd=tmp_path, status=2, env=env).stderr.splitlines()[-1])[
            "error"
        ]
    assert error["code"] == "release-licensed"
    assert "https://uts.nlm.nih.gov" in error["fix"]
    assert "--file PATH" in error["fix"]
    assert (
        "[download-address]"
        in onym("get", "hpo-phenotypes", "--mirror", "http://example.org", cwd=tmp_path, status=2, env=env).stderr
    )
    done = onym("link", "fever", "--pipeline", "hpo-phenotypes", "--json", cwd=tmp_path, status=3, env=env)
    assert '"pipeline-not-installed"' in done.stderr
    assert "onym get hpo-phenotypes" in done.stderr
    assert not (tmp_path / "cache" / "pipelines" / "hpo-phenotypes").exists()
