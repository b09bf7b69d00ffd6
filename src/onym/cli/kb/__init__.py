"""`onym kb`: build a knowledge base and look into it."""

import typer

from onym.cli.kb import build, check, diff, download, export, info, joins, search, show, types

app = typer.Typer(help="Build a knowledge base from a terminology release, and look into it.", no_args_is_help=True)
for module in (build, info, search, show, types, joins, check, diff, export, download):
    app.command(name=module.__name__.rpartition(".")[2])(module.command)
