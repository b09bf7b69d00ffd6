"""Tests of `onym get` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import pytest

from onym.packs import install_pack
from onym.packs import recipe as recipes
from onym.packs.locate import find_install_folder, recipe_names
from tests.cli.command import onym
from tests.packs.made import write_pack
from tests.packs.small import OBO, PATH, small_recipe, small_server
from tests.robustness.cli.catalogue import FileServer


@pytest.fixture
def file_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileServer:
    """Register a small recipe, and start a server with its file."""
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(recipes, "read_recipe", lambda _name: small_recipe())
    return small_server(tmp_path)


def test_lists_all_pipelines(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    install_pack(write_pack(tmp_path / "made", tiny_kb), "fevers")
    shown = [line.split("\t") for line in onym("get", cwd=tmp_path).stdout.splitlines()]
    assert [row[0] for row in shown] == ["starter", *recipe_names(), "fevers"]
    assert shown[0][1] == "installed, the default"
    assert all(row[1].endswith(" MB to download") for row in shown[1:-1])
    assert shown[-1] == ["fevers", "installed", "Pack tiny 1.0.0, 3 concepts", "CC0"]
    listed = json.loads(onym("get", "--list", "--json", cwd=tmp_path).stdout)
    assert {"name", "title", "megabytes", "licences", "extra", "installed", "default"} == set(listed[0])
    assert [row["name"] for row in listed if row["installed"]] == ["starter", "fevers"]
    assert [row["name"] for row in listed if row["default"]] == ["starter"]


def test_the_default_is_the_installed_pipeline_of_the_highest_rank(
    tmp_path: Path, file_server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = json.loads(onym("info", "--json", cwd=tmp_path).stdout)
    assert [row["name"] for row in rows if row.get("default")] == ["starter"]
    with file_server.running():
        onym("get", "fevers", "--mirror", file_server.url, cwd=tmp_path)
    monkeypatch.setattr(recipes, "recipe_names", lambda: ["fevers"])
    assert recipes.default_pipeline() == "starter", "a rank of 0 is never the default"
    monkeypatch.setattr(recipes, "read_recipe", lambda _name: small_recipe(rank=2))
    assert recipes.default_pipeline() == "fevers"
    done = onym("link", "Pyrexia", "--json", cwd=tmp_path)
    assert "using fevers, the best installed pipeline" in done.stderr
    assert json.loads(done.stdout)["links"][0]["concept_id"] == "HP:0001945"
    assert recipes.identity_of(small_recipe(rank=2)) == recipes.identity_of(small_recipe()), "needs no new installation"


def test_suggests_a_name_for_a_typo(tmp_path: Path) -> None:
    env = {"ONYM_CACHE": str(tmp_path / "cache")}
    assert "did you mean hpo-phenotypes?" in onym("get", "hpo-phenotype", cwd=tmp_path, status=2, env=env).stderr
    assert "built in" in onym("get", "starter", cwd=tmp_path, status=2, env=env).stderr
    done = onym("link", "fever", "--pipeline", "strater", "--json", cwd=tmp_path, status=3, env=env)
    assert '"pipeline-missing"' in done.stderr
    assert "did you mean starter?" in done.stderr


def test_installs_from_a_mirror(tmp_path: Path, file_server: FileServer) -> None:
    with file_server.running():
        done = onym("get", "fevers", "--mirror", file_server.url, cwd=tmp_path)
    assert f"installed\t{find_install_folder('fevers')}" in done.stdout
    assert "sha256" in done.stdout
    assert "Licence: CC0" in done.stderr
    again = json.loads(onym("get", "fevers", "--json", cwd=tmp_path).stdout)
    assert not again["new"]
    assert again["files"][0]["bytes"] == len(OBO)
    linked = json.loads(onym("link", "Pyrexia", "--pipeline", "fevers", "--json", cwd=tmp_path).stdout)
    assert linked["links"][0]["concept_id"] == "HP:0001945"


def test_installs_from_a_folder(tmp_path: Path, file_server: FileServer) -> None:
    folder = (file_server.folder / PATH.lstrip("/")).parent
    assert "installed\t" in onym("get", "fevers", "--from", str(folder), cwd=tmp_path).stdout
    assert file_server.answers == []
    assert "installed\t" in onym("get", "fevers", "--from", str(folder), "--force", cwd=tmp_path).stdout


def test_explains_invalid_requests(tmp_path: Path) -> None:
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
