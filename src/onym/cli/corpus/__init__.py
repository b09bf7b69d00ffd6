"""`onym corpus`: read annotated corpora and write them in other formats."""

import typer

from onym.cli.corpus import check, convert, stats

app = typer.Typer(help="Read annotated corpora of any format, look into them, and convert them.", no_args_is_help=True)
for module in (convert, check, stats):
    app.command(name=module.__name__.rpartition(".")[2])(module.command)
