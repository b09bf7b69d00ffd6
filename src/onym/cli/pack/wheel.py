"""`onym pack wheel`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines


def command(
    pack: Annotated[Path, typer.Argument(help="A pack.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the wheel.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing wheel.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Make a wheel of a pack, for pip install. Private packs and data without a stated licence are refused.

    Example: onym pack wheel mesh.onymp -o dist
    """
    from onym.packs.publish import require_wheel_folder, write_wheel

    require_wheel_folder(output)
    with progress("packing"):
        wheel = write_wheel(pack, output, force=force)
    if json:
        write_json({"wheel": str(wheel), "bytes": wheel.stat().st_size})
    else:
        write_lines([("wheel", str(wheel)), ("bytes", f"{wheel.stat().st_size:,}")])
