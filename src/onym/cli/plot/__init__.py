"""`onym plot`: pictures."""

import typer

from onym.cli.plot import names

app = typer.Typer(help="Plot embeddings.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Draw pictures."""


app.command(name="names")(names.command)
