"""`onym model`: models on disk."""

import typer

from onym.cli.model import convert

app = typer.Typer(help="Bring models into a safe form.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Bring models into a safe form."""


app.command(name="convert")(convert.command)
