"""A trained model as a folder: weights, configuration and tokenizer as Hugging Face has them, and what it was made of."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from os import cpu_count
from pathlib import Path
from typing import Any

from onym.store.models import weights_digest
from onym.store.output import whole_folder
from onym.train.card import card
from onym.train.context import Surroundings
from onym.train.trainer import ModelTrainer

RECORD = "training.json"


def publish(setting: Surroundings[Any], trainer: ModelTrainer, dest: Path) -> None:
    """Write the folder, whole or not at all."""
    record = record_of(setting, trainer)
    with whole_folder(dest) as folder:
        trainer.write(folder.path)
        for name, data in (
            *setting.files.items(),
            (RECORD, _json(record)),
            ("log.jsonl", b"".join(json.dumps(entry).encode() + b"\n" for entry in trainer.state.log_history)),
            ("README.md", card(record).encode()),
        ):
            inner, _, last = name.rpartition("/")
            with (folder.inner(inner) if inner else folder).file(last) as file:
                file.write(data)


def record_of(setting: Surroundings[Any], trainer: ModelTrainer) -> dict[str, Any]:
    """Return what a model was made of, and what it reached."""
    before = _record(Path(setting.config.start.model))
    hours = round(trainer.seconds / 3600, 3)
    return {
        "stage": setting.config.stage,
        "start": Path(setting.config.start.model).name,
        "first_start": before.get("first_start", Path(setting.config.start.model).name),
        "stages": [*before.get("stages", []), setting.config.stage],
        "start_weights": weights_digest(Path(setting.config.start.model)),
        "parameters": sum(parameter.numel() for parameter in trainer.model.parameters()),
        "config": setting.config.model_dump(mode="json"),
        "kb": {"digest": setting.kb.digest, "concepts": len(setting.kb), "names": len(setting.kb.names)},
        "corpus": {"name": setting.benchmark.name, "digest": setting.benchmark.digest} if setting.benchmark else {},
        "metrics": trainer.metrics(),
        "steps": trainer.state.global_step,
        "hours": hours,
        "hours_in_all": round(hours + before.get("hours_in_all", 0.0), 3),
        "machine": f"{cpu_count()} cores, {platform.processor() or platform.machine()}",
        "versions": {name: version(name) for name in ("onym", "torch", "transformers", "accelerate")},
    }


def _record(folder: Path) -> dict[str, Any]:
    path = folder / RECORD
    found: dict[str, Any] = json.loads(path.read_bytes()) if path.is_file() else {}
    return found


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"
