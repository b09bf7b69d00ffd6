"""Running a recipe: from a configuration to a folder that appears whole, with all that is needed to do it again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from onym.errors import ConfigError
from onym.train.config import Stage, TrainConfig
from onym.train.recipes.finetune import finetune
from onym.train.recipes.prefer import prefer
from onym.train.recipes.pretrain import pretrain
from onym.train.recipes.publish import publish
from onym.train.recipes.setting import Setting
from onym.train.trainer import NameTrainer

RECIPES: dict[Stage, Callable[[Setting], NameTrainer]] = {"pretrain": pretrain, "finetune": finetune, "prefer": prefer}


def train(
    config: TrainConfig, dest: Path, data: Path | None = None, *, say: Callable[[str], None] = lambda _what: None
) -> Path:
    """Train a model and publish it at `dest`; checkpoints and logs are beside it in `dest`.work. `data` is for corpora.

    `say` is told, by one of several processes, of all that takes a while before the steps themselves.
    Where an earlier call with the same configuration was stopped, it goes on.
    """
    if dest.exists():
        raise ConfigError("output-exists", "the folder exists", where=str(dest), fix="name another folder")
    is_first = os.environ.get("RANK", "0") == "0"
    setting = Setting(config, dest.with_name(f"{dest.name}.work"), data, say if is_first else lambda _what: None)
    setting.require_same()
    trainer = RECIPES[config.stage](setting)
    if trainer.accelerator.is_main_process:
        publish(setting, trainer, dest)
    trainer.accelerator.wait_for_everyone()
    return dest


def runs_folder() -> Path:
    """Return where trained models live: the folder named by ONYM_RUNS, or one in the user's cache."""
    return Path(os.environ.get("ONYM_RUNS") or Path.home() / ".cache" / "onym" / "runs")
