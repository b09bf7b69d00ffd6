"""`onym pipeline info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, write_json, write_lines


def command(
    folder: Annotated[Path, typer.Argument(help="The folder of a pipeline.")],
    json: Annotated[bool, JSON] = False,
) -> None:
    """Show the parts of a pipeline and their options, without loading them.

    Example: onym pipeline info mesh-pipeline
    """
    from onym.packs.locate import read_pipeline
    from onym.pipeline.folder import describe

    config = read_pipeline(folder)
    if json:
        write_json(config.model_dump(mode="json"))
    else:
        write_lines(describe(config))
