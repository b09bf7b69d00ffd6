"""What the stages of training share: their options, and the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.console import stderr, write_lines

if TYPE_CHECKING:
    from onym.train.config import Stage

CONFIG = typer.Option(help="A configuration, .toml.")
PRESET = typer.Option(help="A preset, on which a configuration builds: onym train presets lists them.")
SET = typer.Option("--set", help="A key and its value, over all others, such as optim.steps=100. May be repeated.")
OUTPUT = typer.Option("-o", "--output", help="Folder of the trained model; by default ONYM_RUNS and the configuration's name.")
DATA = typer.Option(envvar="ONYM_DATA", help="Folder of the files of a corpus that was never prepared.")


def stage_command(stage: Stage, doc: str) -> Callable[..., None]:
    """Return the command of a stage; `doc` is its help."""

    def command(
        config: Annotated[Path | None, CONFIG] = None,
        preset: Annotated[str, PRESET] = "",
        settings: Annotated[list[str] | None, SET] = None,
        output: Annotated[Path | None, OUTPUT] = None,
        data: Annotated[Path | None, DATA] = None,
    ) -> None:
        run(stage, config, preset, settings or [], output, data)

    command.__doc__ = doc
    return command


def run(stage: Stage, config: Path | None, preset: str, settings: list[str], output: Path | None, data: Path | None) -> None:
    """Read the configuration, train, and tell what came of it."""
    from onym.errors import ConfigError, missing_extra
    from onym.train.config import read_config

    read = read_config(stage, config, preset, settings)
    name = output.name if output else config.stem if config else preset
    if not name:
        raise ConfigError("config-invalid", "nothing says what to train", fix="name a --config or a --preset")
    try:
        from onym.train.run import runs_folder, train
    except ImportError as e:
        raise missing_extra("training", "train") from e
    console = stderr()
    folder = train(read, output or runs_folder() / name, data, say=lambda what: console.print(what, style="dim", markup=False))
    write_lines([("model", str(folder)), ("card", str(folder / "README.md")), ("log", str(folder / "log.jsonl"))])
