"""`onym batch compact`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onym.cli.batch._shown import OUT
from onym.cli.console import JSON, progress, write_json, write_lines


def command(
    out: OUT,
    output: Annotated[Path, typer.Option("--output", "-o", help="Parquet file to write.")],
    latest: Annotated[bool, typer.Option("--latest", help="Keep only the latest version of each document.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing output.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Write the current state of PubMed baseline and update files: the latest file wins, deleted citations are left out.

    Example: onym batch compact linked -o current.parquet
    """
    from onym.batch.exporting import compact

    with progress("compacting"):
        found = asdict(compact(out, output, latest=latest, force=force))
    if json:
        write_json({**found, "output": str(output)})
    else:
        write_lines([*((name.replace("_", " "), f"{count:,}") for name, count in found.items()), ("output", str(output))])
