"""`onym pack info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, write_json, write_lines


def command(
    pack: Annotated[Path, typer.Argument(help="A pack.")],
    json: Annotated[bool, JSON] = False,
) -> None:
    """Check a pack without unpacking it, and show its sources with releases and licences.

    Example: onym pack info mesh.onymp
    """
    from onym.cli.pack._shown import rows_of, values_of
    from onym.packs.archive import open_pack

    record = open_pack(pack).record
    if json:
        write_json(values_of(record))
    else:
        write_lines(rows_of(record))
