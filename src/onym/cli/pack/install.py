"""`onym pack install`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines


def command(
    pack: Annotated[Path, typer.Argument(help="A pack.")],
    name: Annotated[str, typer.Option(help="Name to load it by; by default its own.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace an installed pipeline of that name.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Check and unpack a pack into the cache directory, to be loaded by its name.

    Example: onym pack install mesh.onymp
    """
    from onym.cli.pack._shown import rows_of, values_of
    from onym.packs.install import install_pack

    with progress("installing"):
        record, folder = install_pack(pack, name, force=force)
    if json:
        write_json({"installed_as": folder.name, "folder": str(folder), **values_of(record)})
    else:
        write_lines([("installed as", folder.name), ("folder", str(folder)), *rows_of(record)])
