"""`onym train prefer`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from onym.cli.train.training import CONFIG, DATA, OUTPUT, PRESET, SET, run


def command(
    config: Annotated[Path | None, CONFIG] = None,
    preset: Annotated[str, PRESET] = "",
    settings: Annotated[list[str] | None, SET] = None,
    output: Annotated[Path | None, OUTPUT] = None,
    data: Annotated[Path | None, DATA] = None,
) -> None:
    """Let a model learn from its own wrong answers on a corpus. A run that was stopped goes on.

    Example: onym train prefer --preset angel-ncbi-negative --set start.model=linker -o better
    """
    run("prefer", config, preset, settings or [], output, data)
