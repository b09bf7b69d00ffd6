"""Running a recipe: from a configuration to a folder that appears whole, with all that is needed to do it again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onym.errors import ConfigError
from onym.train.collective.collective import collective
from onym.train.collective.context import CollectiveSetting
from onym.train.config import AlignConfig, AnyConfig, CollectiveConfig, EncoderStage, WritingStage
from onym.train.context import Surroundings
from onym.train.encoder.align import align
from onym.train.encoder.context import EncoderSetting
from onym.train.encoder.match import match
from onym.train.encoder.trainer import AlignTrainer
from onym.train.generative.context import Setting
from onym.train.generative.finetune import finetune
from onym.train.generative.prefer import prefer
from onym.train.generative.pretrain import pretrain
from onym.train.generative.trainer import NameTrainer
from onym.train.publish import publish
from onym.train.trainer import ModelTrainer

RECIPES: dict[WritingStage, Callable[[Setting], NameTrainer]] = {"pretrain": pretrain, "finetune": finetune, "prefer": prefer}
ENCODER_RECIPES: dict[EncoderStage, Callable[[EncoderSetting], AlignTrainer]] = {"align": align, "match": match}


def train(config: AnyConfig, dest: Path, data: Path | None = None, *, say: Callable[[str], None] = lambda _what: None) -> Path:
    """Train a model and publish it at `dest`; checkpoints and logs are beside it in `dest`.work. `data` is for corpora.

    `say` is told, by one of several processes, of all that takes a while before the steps themselves.
    Where an earlier call with the same configuration was stopped, it goes on.
    """
    if dest.exists():
        raise ConfigError("output-exists", "the folder exists", where=str(dest), fix="name another folder")
    is_first = os.environ.get("RANK", "0") == "0"
    setting, trainer = _trained(config, dest.with_name(f"{dest.name}.work"), data, say if is_first else lambda _what: None)
    if trainer.accelerator.is_main_process:
        publish(setting, trainer, dest)
    trainer.accelerator.wait_for_everyone()
    return dest


def _trained(
    config: AnyConfig, work: Path, data: Path | None, say: Callable[[str], None]
) -> tuple[Surroundings[Any], ModelTrainer]:
    if isinstance(config, AlignConfig):
        encoder = EncoderSetting(config, work, data, say)
        encoder.require_same()
        return encoder, ENCODER_RECIPES[config.stage](encoder)
    if isinstance(config, CollectiveConfig):
        reader = CollectiveSetting(config, work, data, say)
        reader.require_same()
        return reader, collective(reader)
    setting = Setting(config, work, data, say)
    setting.require_same()
    return setting, RECIPES[config.stage](setting)


def runs_folder() -> Path:
    """Return where trained models live: the folder named by ONYM_RUNS, or one in the user's cache."""
    return Path(os.environ.get("ONYM_RUNS") or Path.home() / ".cache" / "onym" / "runs")
