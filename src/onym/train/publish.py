"""A trained model as a folder: weights, configuration and tokenizer in Hugging Face's layout, and a record of its training."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from os import cpu_count
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from onym.store.models import weights_digest
from onym.store.output import whole_folder
from onym.train.card import card
from onym.train.context import RunContext
from onym.train.trainer import ModelTrainer

RECORD = "training.json"


def publish(context: RunContext[Any], trainer: ModelTrainer, dest: Path) -> None:
    """Write the folder atomically: it appears only when complete."""
    record = record_of(context, trainer)
    with whole_folder(dest) as folder:
        _write_weights(trainer, folder.path)
        for name, data in (
            *context.files.items(),
            (RECORD, _json(record)),
            ("log.jsonl", b"".join(json.dumps(entry).encode() + b"\n" for entry in trainer.state.log_history)),
            ("README.md", card(record).encode()),
        ):
            folder.write(name, data)


def _write_weights(trainer: ModelTrainer, folder: Path) -> None:
    """Let the model write itself; a full disk is what it is for every other file."""
    try:
        trainer.write(folder)
    except SafetensorError as e:
        raise OSError(str(e)) from e


def record_of(context: RunContext[Any], trainer: ModelTrainer) -> dict[str, Any]:
    """Return what a model was made of, and its scores."""
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
        "machine": f"{cpu_count()} cores, {platform.processor() or platform.machine()}",
        "versions": {name: version(name) for name in ("onym", "torch", "transformers", "accelerate")},
    }


def _record(folder: Path) -> dict[str, Any]:
    path = folder / RECORD
    found: dict[str, Any] = json.loads(path.read_bytes()) if path.is_file() else {}
    return found


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"
