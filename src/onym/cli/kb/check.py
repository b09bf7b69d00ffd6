"""`onym kb check`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, write_json, write_lines


def command(folder: Annotated[Path, typer.Argument(help="A knowledge base.")], json: Annotated[bool, JSON] = False) -> None:
    """Verify the checksums of all files and report problems. Exit status 4 if the knowledge base is corrupt.

    Example: onym kb check hpo-kb
    """
    from onym.kb.check import check_kb

    problems = check_kb(folder)
    if json:
        write_json([asdict(problem) for problem in problems])
    else:
        write_lines([(p.level, p.what, "; ".join(p.examples)) for p in problems] or [("ok", "nothing wrong was found")])
    if any(problem.level == "error" for problem in problems):
        raise typer.Exit(4)
