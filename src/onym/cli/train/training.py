"""What the stages of training share: their options, and the run."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.console import log_to_stderr, write_lines

if TYPE_CHECKING:
    from onym.train.configs import TrainingStage

CONFIG = typer.Option(help="Configuration file, .toml.")
PRESET = typer.Option(help="Preset that the configuration builds on; see onym train presets.")
SET = typer.Option("--set", help="Override one key, such as optim.steps=100. May be repeated.")
OUTPUT = typer.Option("-o", "--output", help="Folder of the trained model; by default ONYM_RUNS/NAME of the configuration.")
DATA = typer.Option(envvar="ONYM_DATA", help="Folder of the source files of datasets that are not yet prepared.")
DEVICE = typer.Option(help="Device to train on: auto, cpu, cuda, cuda:N or mps. Same as --set optim.device=...")


def stage_command(stage: TrainingStage, doc: str) -> Callable[..., None]:
    """Return the command of a stage; `doc` is its help."""

    def command(
        config: Annotated[Path | None, CONFIG] = None,
        preset: Annotated[str, PRESET] = "",
        overrides: Annotated[list[str] | None, SET] = None,
        output: Annotated[Path | None, OUTPUT] = None,
        data: Annotated[Path | None, DATA] = None,
        device: Annotated[str | None, DEVICE] = None,
    ) -> None:
        own = [f"optim.device={device}"] if device is not None else []
        run(stage, config, preset, [*(overrides or []), *own], output, data)

    command.__doc__ = doc
    return command


def run(
    stage: TrainingStage, config: Path | None, preset: str, overrides: list[str], output: Path | None, data: Path | None
) -> None:
    """Read the configuration, train, and print the paths of the results."""
    from onym.errors import ConfigError, missing_extra
    from onym.train.stages import read_config, require_new, runs_folder

    read = read_config(stage, config, preset, overrides)
    name = output.name if output else config.stem if config else preset
    if not name:
        raise ConfigError("config-invalid", "nothing says what to train", fix="name a --config or a --preset")
    dest = output or runs_folder() / name
    require_new(dest)
    if find_spec("accelerate") is None:  # told at once: importing torch takes seconds
        raise missing_extra("training", "train")
    try:
        from onym.train.run import train
    except ImportError as e:
        raise missing_extra("training", "train") from e
    with log_to_stderr("onym.train"):
        folder = train(read, dest, data)
    log = folder / "log.jsonl"
    rows = [("model", str(folder)), ("card", str(folder / "README.md"))]
    write_lines([*rows, ("log", str(log))] if log.is_file() else rows)
