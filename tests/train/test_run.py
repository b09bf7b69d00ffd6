"""Running a recipe: to a folder that was not there before, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn, get_args

import pytest

from onym.errors import ConfigError
from onym.train import run as run_module
from onym.train.config import EncoderStage, WritingStage
from onym.train.generative.context import Setting
from onym.train.run import ENCODER_RECIPES, RECIPES, runs_folder, train
from tests.train.made import opened
from tests.train.tiny import config


def test_every_stage_has_a_recipe() -> None:
    assert set(RECIPES) == set(get_args(WritingStage))
    assert set(ENCODER_RECIPES) == set(get_args(EncoderStage))


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


@pytest.mark.parametrize(("rank", "told"), [("", ["slow"]), ("0", ["slow"]), ("1", [])])
def test_one_process_tells_what_takes_a_while(
    tmp_path: Path, model: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch, rank: str, told: list[str]
) -> None:
    def stop(setting: Setting) -> NoReturn:
        setting.say("slow")
        raise RuntimeError("stopped")

    if rank:
        monkeypatch.setenv("RANK", rank)
    monkeypatch.setitem(RECIPES, "pretrain", stop)
    heard: list[str] = []
    with pytest.raises(RuntimeError, match="stopped"):
        train(config("pretrain", model, None, kb_folder), tmp_path / "made", say=heard.append)
    assert heard == told


def test_where_models_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_RUNS", str(tmp_path))
    assert runs_folder() == tmp_path
    monkeypatch.delenv("ONYM_RUNS")
    assert runs_folder().parts[-2:] == ("onym", "runs")
