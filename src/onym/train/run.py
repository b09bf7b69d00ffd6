"""Running a stage of training: from a configuration to a folder that appears only when complete."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from onym.train.arguments import training_precision
from onym.train.collective.collective import collective
from onym.train.collective.context import CollectiveContext
from onym.train.collective.detector.context import DetectorContext
from onym.train.collective.detector.detector import detect
from onym.train.context import RunContext
from onym.train.encoder.align import align
from onym.train.encoder.context import EncoderContext
from onym.train.encoder.match import match
from onym.train.generative.context import GenerativeContext
from onym.train.generative.finetune import finetune
from onym.train.generative.prefer import prefer
from onym.train.generative.pretrain import pretrain
from onym.train.mentions.config import MentionsTrainingConfig
from onym.train.mentions.mentions import train_classifier
from onym.train.publish import publish
from onym.train.rerank.config import RerankTrainingConfig
from onym.train.rerank.rerank import train_reranker
from onym.train.stages import AnyConfig, ModelConfig, require_new
from onym.train.trainer import ModelTrainer


class Recipe(NamedTuple):
    """What a stage opens, and how it trains."""

    context: Callable[..., RunContext[Any]]
    train: Callable[[Any], ModelTrainer]


RECIPES = {
    "pretrain": Recipe(GenerativeContext, pretrain),
    "finetune": Recipe(GenerativeContext, finetune),
    "prefer": Recipe(GenerativeContext, prefer),
    "align": Recipe(EncoderContext, align),
    "match": Recipe(EncoderContext, match),
    "collective": Recipe(CollectiveContext, collective),
    "detect": Recipe(DetectorContext, detect),
}


def train(config: AnyConfig, dest: Path, data: Path | None = None) -> Path:
    """Train a model and publish it at `dest`; checkpoints and logs go to `dest`.work. `data` has the files of datasets.

    An interrupted run with the same configuration resumes.
    """
    require_new(dest)
    if isinstance(config, RerankTrainingConfig):
        return train_reranker(config, dest, data)
    if isinstance(config, MentionsTrainingConfig):
        return train_classifier(config, dest, data)
    recipe = RECIPES[config.stage]
    context = recipe.context(_resolve_precision(config), dest.with_name(f"{dest.name}.work"), data)
    context.require_same_config()
    trainer = recipe.train(context)
    if trainer.accelerator.is_main_process:
        publish(context, trainer, dest)
    trainer.accelerator.wait_for_everyone()
    return dest


def _resolve_precision(config: ModelConfig) -> ModelConfig:
    """Write down what `auto` is on this machine: a run must resume in the precision that it began in."""
    optim = config.optim.model_copy(update={"precision": training_precision(config.optim)})
    return config.model_copy(update={"optim": optim})
