"""`onym dataset`: published corpora, prepared for linking."""

import typer

from onym.cli.dataset import list as list_
from onym.cli.dataset import prepare

app = typer.Typer(help="Prepare published corpora for linking, and report train/test overlap.", no_args_is_help=True)
for module in (list_, prepare):
    app.command(name=module.__name__.rpartition(".")[2])(module.command)
