"""`onym batch export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.batch._shown import OUT
from onym.cli.console import progress, write_lines


def command(
    out: OUT,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write: .parquet, .csv, .tsv, .jsonl or .xlsx.")],
    format: Annotated[  # noqa: A002
        str,
        typer.Option(help="Write documents in a corpus format instead, such as pubtator; reads the inputs again."),
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing output.")] = False,
) -> None:
    """Write the links of a finished run to one file.

    Example: onym batch export linked -o links.parquet
    """
    from onym.batch.exporting import export

    with progress("exporting"):
        count = export(out, output, format, force=force)
    write_lines([("documents" if format else "mentions", f"{count:,}"), ("output", str(output))])
