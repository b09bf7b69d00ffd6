"""Running a recipe: to a folder that was not there before, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.train.recipes import run as run_module
from onym.train.recipes import train
from onym.train.recipes.run import RECIPES, runs_folder
from tests.train.recipes.made import opened
from tests.train.tiny import config


def test_every_stage_has_a_recipe() -> None:
    assert set(RECIPES) == {"pretrain", "finetune", "prefer"}


def test_an_existing_output_is_refused(tmp_path: Path, model: Path, kb_folder: Path) -> None:
    (tmp_path / "made").mkdir()
    with pytest.raises(ConfigError, match="output-exists"):
        train(config("pretrain", model, None, kb_folder), tmp_path / "made")
    assert not (tmp_path / "made.work").exists()


def test_another_configuration_in_the_same_place_is_refused(
    tmp_path: Path, model: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise RuntimeError("stopped")

    with monkeypatch.context() as patched:
        patched.setattr(run_module, "publish", stop)
        with pytest.raises(RuntimeError, match="stopped"):
            train(config("pretrain", model, None, kb_folder), tmp_path / "made")
    with pytest.raises(ConfigError, match="training-other"):
        train(config("pretrain", model, None, kb_folder, optim={"learning_rate": 1e-3}), tmp_path / "made")
    assert not (tmp_path / "made").exists()
    opened(train(config("pretrain", model, None, kb_folder), tmp_path / "made"), kb_folder)


def test_where_models_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_RUNS", str(tmp_path))
    assert runs_folder() == tmp_path
    monkeypatch.delenv("ONYM_RUNS")
    assert runs_folder().parts[-2:] == ("onym", "runs")
