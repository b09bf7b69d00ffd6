"""`onym advanced`: list the commands that few people need."""

from __future__ import annotations

import typer

from onym.cli.app import ADVANCED, Commands
from onym.cli.console import write_lines

app = typer.Typer()


@app.command()
def advanced() -> None:
    """List commands that few people need: corpora, indexes, tries, model files, plots.

    Example: onym advanced
    """
    commands = Commands()
    write_lines([(f"onym {name}", commands[name].help) for name in ADVANCED])
