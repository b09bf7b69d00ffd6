"""Running a recipe: to a folder that was not there before, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest

from onym.errors import ConfigError
from onym.models import device
from onym.train import run as run_module
from onym.train.run import RECIPES, train
from onym.train.stages import MODEL_CONFIGS
from tests.train.made import open_linker
from tests.train.tiny import config


def test_each_stage_has_a_recipe() -> None:
    assert RECIPES.keys() == MODEL_CONFIGS.keys()


def test_an_existing_output_is_refused(tmp_path: Path, model: Path, kb_folder: Path) -> None:
    (tmp_path / "made").mkdir()
    with pytest.raises(ConfigError, match="output-exists"):
        train(config("pretrain", model, None, kb_folder), tmp_path / "made")
    assert not (tmp_path / "made.work").exists()


@pytest.mark.slow
def test_another_configuration_in_the_same_folder_is_refused(
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
    open_linker(train(config("pretrain", model, None, kb_folder), tmp_path / "made"), kb_folder)


@pytest.mark.parametrize(("has_bf16", "precision"), [(False, "fp32"), (True, "bf16-weights")])
def test_the_precision_of_this_machine_is_recorded(
    tmp_path: Path, model: Path, kb_folder: Path, monkeypatch: pytest.MonkeyPatch, has_bf16: bool, precision: str
) -> None:
    """A run that is resumed on another machine must not change its precision without being told to."""

    def stop(context: Any) -> NoReturn:
        raise RuntimeError(context.config.optim.precision)

    def run() -> None:
        train(config("pretrain", model, None, kb_folder, optim={"precision": "auto", "device": "cpu"}), tmp_path / "made")

    monkeypatch.setitem(RECIPES, "pretrain", RECIPES["pretrain"]._replace(train=stop))
    monkeypatch.setattr(device, "_has_bf16", lambda _: has_bf16)
    with pytest.raises(RuntimeError, match=f"^{precision}$"):
        run()
    monkeypatch.setattr(device, "_has_bf16", lambda _: not has_bf16)
    with pytest.raises(ConfigError, match="training-other"):
        run()
