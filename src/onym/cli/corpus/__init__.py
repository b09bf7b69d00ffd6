"""`onym corpus`: read annotated corpora and write them in other formats."""

import typer

from onym.cli.corpus import check, convert, stats

app = typer.Typer(help="Inspect, check and convert annotated corpora.", no_args_is_help=True)
for module in (convert, check, stats):
    app.command(name=module.__name__.rpartition(".")[2])(module.command)
