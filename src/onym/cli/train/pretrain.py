"""`onym train pretrain`."""

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
    """Teach a model the synonyms and definitions of a knowledge base. A run that was stopped goes on.

    Example: onym train pretrain --config kb.toml -o pretrained
    """
    run("pretrain", config, preset, settings or [], output, data)
