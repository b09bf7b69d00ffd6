"""`onym index info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, write_json, write_lines


def command(
    folders: Annotated[list[Path], typer.Argument(help="Indexes, or knowledge bases to list all indexes stored with them.")],
    json: Annotated[bool, JSON] = False,
) -> None:
    """Show the kind and size of an index, and which knowledge base and encoder it was built from.

    Example: onym index info hpo-kb
    """
    from onym.index.build import info

    found = [described for folder in folders for described in info(folder)]
    if json:
        write_json(found)
    else:
        rows = [(name.replace("_", " "), value) for described in found for name, value in described.items()]
        write_lines([(name, value if isinstance(value, str) else f"{value:,}") for name, value in rows])
