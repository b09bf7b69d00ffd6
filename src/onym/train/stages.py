"""Read the configuration of a training stage: a preset, overridden by a TOML file, overridden by `key=value` options.

Presets have the hyper-parameters of the papers' tables, or are meant for a few CPU cores.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from onym.config import parse_toml, read_toml
from onym.errors import ConfigError
from onym.store.cache import default_folder
from onym.store.output import require_folder, whole_file
from onym.train.configs import CONFIGS, AnyConfig, TrainingStage

_PRESETS = files("onym.train") / "presets"


def runs_folder() -> Path:
    """Return the folder of trained models: ONYM_RUNS, or `runs` in the user's cache."""
    return Path(os.environ.get("ONYM_RUNS") or default_folder() / "runs")


def require_new(dest: Path) -> None:
    """Raise ConfigError, before training starts, if the folder exists or cannot be written."""
    require_folder(dest, force=True)
    if dest.exists():
        raise ConfigError("output-exists", "the folder already exists", where=str(dest), fix="choose another folder")


def require_same(path: Path, own: Mapping[str, Any]) -> None:
    """Raise ConfigError if the run was started with another configuration; on the first run, write the configuration."""
    if path.is_file():
        if json.loads(path.read_bytes()) != own:
            fix = "choose another folder, or delete this one"
            what = "a run with another configuration was started in this folder"
            raise ConfigError("training-other", what, where=str(path.parent), fix=fix)
        return
    with whole_file(path, force=True) as file:  # overwrite, because several processes may write this file at the same time
        file.write(json.dumps(own, indent=1).encode() + b"\n")


def read_config(stage: TrainingStage, path: Path | None, preset: str = "", overrides: Sequence[str] = ()) -> AnyConfig:
    """Return the configuration of a stage: a preset, overridden by a file, overridden by options like `optim.steps=100`.

    >>> read_config("finetune", None, "genbioel-ncbi", ["start.model=here", "optim.steps=5"]).stage
    'finetune'
    """
    values = read_values(stage, path, preset, overrides)
    return CONFIGS[stage].of(values, str(path or preset), fix="see docs/reference/training.md for all keys")


def read_values(stage: TrainingStage, path: Path | None, preset: str = "", overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Return the merged values of a configuration, without validation.

    >>> read_values("finetune", None, "genbioel-ncbi", ["start.model=here", "optim.steps=5"])["optim"]["learning_rate"]
    3e-07
    """
    own = read_toml(path) if path else {}
    named = str(own.pop("preset", preset) or preset)
    values = merge(find_preset(named) if named else {}, own)
    for override in overrides:
        values = merge(values, _parse_override(override))
    if values.setdefault("stage", stage) != stage:
        what = f"the configuration is for `onym train {values['stage']}`, not for {stage}"
        raise ConfigError("config-invalid", what, where=str(path or named), fix=f"run onym train {values['stage']}")
    return values


def presets() -> list[str]:
    """Return the names of all presets.

    >>> "angel-bc5cdr-negative" in presets()
    True
    """
    return sorted(file.name.removesuffix(".toml") for file in _PRESETS.iterdir() if file.name.endswith(".toml"))


def find_preset(name: str) -> dict[str, Any]:
    """Return the values of a preset."""
    return parse_toml(preset_text(name).encode(), name)


def preset_text(name: str) -> str:
    """Return the text of a preset."""
    if name not in presets():
        raise ConfigError("config-invalid", f"unknown preset {name!r}", fix=f"use one of {', '.join(presets())}")
    return (_PRESETS / f"{name}.toml").read_text("utf-8")


def merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Return `below` updated with the values of `above`; nested dicts are merged recursively.

    >>> merge({"optim": {"steps": 5, "seed": 2}}, {"optim": {"steps": 9}})
    {'optim': {'steps': 9, 'seed': 2}}
    """
    values = dict(below)
    for key, value in above.items():
        old = values.get(key)
        values[key] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return values


def _parse_override(override: str) -> dict[str, Any]:
    key, equals, value = override.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise ConfigError("config-invalid", f"{override!r} is not key=value", fix="write it like optim.steps=100")
    try:
        parsed: Any = tomllib.loads(f"value = {value}")["value"]
    except ValueError:
        parsed = value  # not TOML, so it is a string without quotes
    for part in reversed(parts):
        parsed = {part: parsed}
    return dict(parsed)
