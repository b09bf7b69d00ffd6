"""`onym index`: build the index of the vectors of a knowledge base's names, and look into it."""

import typer

from onym.cli.index import build, info

app = typer.Typer(help="Build and inspect the index of name embeddings for the dense linker.", no_args_is_help=True)
for module in (build, info):
    app.command(name=module.__name__.rpartition(".")[2])(module.command)
