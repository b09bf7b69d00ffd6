"""`onym train finetune`."""

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
    """Teach a model to write each mention of a corpus as a name of its concept. A run that was stopped goes on.

    Example: onym train finetune --preset cpu-small --set start.model=flan-t5-small --set data.benchmark=corpus -o linker
    """
    run("finetune", config, preset, settings or [], output, data)
