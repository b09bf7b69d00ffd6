"""`onym model`: convert model weights."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines
from onym.cli.options import FORCE

app = typer.Typer(help="Convert model weights to safetensors.", no_args_is_help=True)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="Folder of a model with pytorch_model.bin.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    force: Annotated[bool, FORCE] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Convert pytorch_model.bin to safetensors. Only tensors are unpickled; files that contain other objects are rejected.

    Example: onym model convert ANGEL_ncbi -o angel-ncbi
    """
    from onym.store.output import require_folder

    require_folder(output, force=force)
    from onym.methods.generative.decoding.convert import convert_weights

    with progress("converting"):
        tensors = convert_weights(source, output, force=force)
    if json:
        write_json({"tensors": tensors, "output": str(output)})
    else:
        write_lines([("tensors", f"{tensors:,}")])
