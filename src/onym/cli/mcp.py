"""`onym mcp`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.linking import PRECISION


def command(
    pipeline: Annotated[Path, typer.Option(help="The pipeline whose tools are served.")],
    precision: Annotated[float | None, PRECISION] = None,
) -> None:
    """Serve link, explain, lookup and map as tools of an assistant, by the Model Context Protocol on standard input and output.

    Example: onym mcp --pipeline mesh-pipeline
    """
    from onym.integrations.mcp import build_server
    from onym.packs.locate import load

    build_server(load(pipeline).with_precision(precision)).run()
