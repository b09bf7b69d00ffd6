"""`onym pack hub`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines


def command(
    pack: Annotated[Path, typer.Argument(help="A pack.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write: the pack, its licences and a model card.")],
    results: Annotated[Path | None, typer.Option(help="A file of results (rows.json), for the figures of the card.")] = None,
    row: Annotated[list[str] | None, typer.Option(help="Key of a row of it; by default all rows.")] = None,
    upload: Annotated[str, typer.Option(help="Upload the folder as this model of Hugging Face's hub: OWNER/NAME.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing folder.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Write the folder of a pack for Hugging Face's hub. Private packs and data without a stated licence are refused.

    Example: onym pack hub mesh.onymp -o mesh-hub
    """
    from onym.packs.publish import read_results, write_hub_folder
    from onym.store.download import upload as upload_folder
    from onym.store.output import require_folder

    require_folder(output, force=force)
    found = read_results(results, row or ()) if results else []
    with progress("writing"):
        record = write_hub_folder(pack, output, results=found, force=force)
        address = upload_folder(output, upload) if upload else ""
    values = {"folder": str(output), "name": record.name, "results": len(found), **({"address": address} if address else {})}
    if json:
        write_json(values)
    else:
        write_lines([(name, str(value)) for name, value in values.items()])
