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
    """Tell what a pipeline is made of. Nothing of it is opened.

    Example: onym pipeline info mesh-pipeline
    """
    from onym.pipeline.folder import described, read_pipeline

    settings = read_pipeline(folder)
    if json:
        write_json(settings.model_dump(mode="json"))
    else:
        write_lines(described(settings))
