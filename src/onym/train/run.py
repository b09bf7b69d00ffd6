"""Run a training stage and write the model folder, which appears only when complete.

The folder has weights, configuration and tokenizer in Hugging Face layout, a training record and a card.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError

from onym.store.models import weights_digest
from onym.store.output import whole_folder
from onym.train.card import RECORD, card, describe_machine, write_record
from onym.train.collective.trainer import CollectiveContext, collective
from onym.train.configs import (
    AnyConfig,
    GenesTrainingConfig,
    MentionsTrainingConfig,
    ModelConfig,
    OrganismsTrainingConfig,
    RerankTrainingConfig,
    StudentTrainingConfig,
)
from onym.train.context import RunContext
from onym.train.dense.trainer import EncoderContext, align, match
from onym.train.dictionary.trainer import train_classifier
from onym.train.generative.prefer import prefer
from onym.train.generative.trainer import GenerativeContext, finetune, pretrain
from onym.train.genes.organism_trainer import train_organisms
from onym.train.genes.trainer import train_genes
from onym.train.precision import training_precision
from onym.train.reranker.trainer import train_reranker
from onym.train.stages import require_new
from onym.train.student.trainer import train_student
from onym.train.tagger.trainer import DetectorContext, detect
from onym.train.trainer import ModelTrainer


class StageRecipe(NamedTuple):
    """The context class and the training function of a stage."""

    context: Callable[..., RunContext[Any]]
    train: Callable[[Any], ModelTrainer]


RECIPES = {
    "pretrain": StageRecipe(GenerativeContext, pretrain),
    "finetune": StageRecipe(GenerativeContext, finetune),
    "prefer": StageRecipe(GenerativeContext, prefer),
    "align": StageRecipe(EncoderContext, align),
    "match": StageRecipe(EncoderContext, match),
    "collective": StageRecipe(CollectiveContext, collective),
    "detect": StageRecipe(DetectorContext, detect),
}


def train(config: AnyConfig, dest: Path, data: Path | None = None) -> Path:
    """Train a model and write it to `dest`; checkpoints and logs go to `dest`.work. An interrupted run resumes.

    `data` has the raw files of datasets not yet prepared.
    """
    require_new(dest)
    if isinstance(config, RerankTrainingConfig):
        return train_reranker(config, dest, data)
    if isinstance(config, MentionsTrainingConfig):
        return train_classifier(config, dest, data)
    if isinstance(config, GenesTrainingConfig):
        return train_genes(config, dest, data)
    if isinstance(config, OrganismsTrainingConfig):
        return train_organisms(config, dest, data)
    if isinstance(config, StudentTrainingConfig):
        return train_student(config, dest, data)
    recipe = RECIPES[config.stage]
    context = recipe.context(_resolve_precision(config), dest.with_name(f"{dest.name}.work"), data)
    context.require_same_config()
    trainer = recipe.train(context)
    if trainer.accelerator.is_main_process:
        publish(context, trainer, dest)
    trainer.accelerator.wait_for_everyone()
    return dest


def _resolve_precision(config: ModelConfig) -> ModelConfig:
    """Replace the precision `auto` by its value on this machine, because a run must resume with the same precision."""
    optim = config.optim.model_copy(update={"precision": training_precision(config.optim)})
    return config.model_copy(update={"optim": optim})


def publish(context: RunContext[Any], trainer: ModelTrainer, dest: Path) -> None:
    """Write the folder atomically: it appears only when complete."""
    record = record_of(context, trainer)
    with whole_folder(dest) as folder:
        _write_weights(trainer, folder.path)
        log = b"".join(json.dumps(entry).encode() + b"\n" for entry in trainer.state.log_history)
        for name, data in (*context.files.items(), ("log.jsonl", log)):
            folder.write(name, data)
        write_record(folder, record, card(record))


def _write_weights(trainer: ModelTrainer, folder: Path) -> None:
    """Write the weights; raise OSError, as for all other files, if safetensors cannot write (for example, disk full)."""
    try:
        trainer.write(folder)
    except SafetensorError as e:
        raise OSError(str(e)) from e


def record_of(context: RunContext[Any], trainer: ModelTrainer) -> dict[str, Any]:
    """Return the training record of a model: its inputs, configuration and scores."""
    before = _record(Path(context.config.start.model))
    hours = round(trainer.seconds / 3600, 3)
    return {
        "stage": context.config.stage,
        "start": Path(context.config.start.model).name,
        "first_start": before.get("first_start", Path(context.config.start.model).name),
        "stages": [*before.get("stages", []), context.config.stage],
        "start_weights": weights_digest(Path(context.config.start.model)),
        "parameters": sum(parameter.numel() for parameter in trainer.model.parameters()),
        "config": context.config.model_dump(mode="json"),
        **context.origin,
        "metrics": trainer.metrics(),
        "dev_mentions": 0 if trainer.dev is None else len(trainer.dev),
        "steps": trainer.state.global_step,
        "hours": hours,
        "hours_in_all": round(hours + before.get("hours_in_all", 0.0), 3),
        "device": str(context.device),
        **describe_machine("torch", "transformers", "accelerate"),
    }


def _record(folder: Path) -> dict[str, Any]:
    path = folder / RECORD
    found: dict[str, Any] = json.loads(path.read_bytes()) if path.is_file() else {}
    return found
