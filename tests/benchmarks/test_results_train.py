"""Tests that each recipe of the results page is a complete configuration, and that its base models have recipes, too."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks.results import train as results_train
from benchmarks.results.train import KBS, RECIPES, config_of, recipe

from onym.train.configs import DetectorTrainingConfig

NAMES = sorted(path.stem for path in RECIPES.glob("*/*.toml"))


@pytest.fixture(autouse=True)
def _forbid_downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(results_train, "model_folder", lambda name: tmp_path / "models" / name)
    for name in KBS:
        monkeypatch.setitem(KBS, name, lambda name=name: SimpleNamespace(folder=tmp_path / "kbs" / name / "v1"))


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_is_a_configuration(name: str, tmp_path: Path) -> None:
    config = config_of(name)
    start = Path(config.start.model)
    assert start.parent in (tmp_path / "models", tmp_path / "runs")
    if start.parent.name == "runs":
        assert start.name in NAMES
    if isinstance(config, DetectorTrainingConfig):  # detectors need no knowledge base
        return
    assert Path(config.data.kb).parent == tmp_path / "kbs"
    if name.endswith("-all"):
        assert config.dev.mentions == 0


def test_recipe_inherits_from_another() -> None:
    usual, minimal = (recipe(name) for name in ("ncbi-usual-quarter", "ncbi-short-name-quarter"))
    assert minimal["data"].pop("target") == "short"
    assert usual == minimal
