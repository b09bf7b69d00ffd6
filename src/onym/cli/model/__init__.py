"""`onym model`: models on disk."""

import typer

from onym.cli.model import convert

app = typer.Typer(help="Convert model weights to safetensors.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Convert model weights to safetensors."""


app.command(name="convert")(convert.command)
