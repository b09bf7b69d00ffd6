"""`onym train presets`."""

from __future__ import annotations

from typing import Annotated

import typer

from onym.cli.console import JSON, write_json, write_plain


def command(
    name: Annotated[str, typer.Argument(help="A preset to print as a configuration; without one all are listed.")] = "",
    json: Annotated[bool, JSON] = False,
) -> None:
    """List the presets, or print one.

    Example: onym train presets genbioel-ncbi
    """
    from onym.train.stages import preset_named, preset_text, presets

    if json:
        write_json(preset_named(name) if name else presets())
        return
    write_plain(preset_text(name) if name else "\n".join(presets()))
