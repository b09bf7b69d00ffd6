"""`onym pack`: a pipeline with all that it needs in one file, to carry and to install."""

import typer

from onym.cli.pack import build, hub, info, install, wheel

app = typer.Typer(
    help="Carry a pipeline: one file with its knowledge base, models, indexes, card and licences.", no_args_is_help=True
)
for module in (build, info, install, wheel, hub):
    app.command(name=module.__name__.rpartition(".")[2])(module.command)
